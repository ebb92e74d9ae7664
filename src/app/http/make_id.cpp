#include "app/http/make_id.h"

#include <fmt/format.h>

#include <random>

namespace parhelion::app {

std::string make_id(std::string_view prefix) {
  std::random_device random;
  return fmt::format("{}{:08x}{:08x}{:08x}", prefix, random(), random(), random());
}

}  // namespace parhelion::app
