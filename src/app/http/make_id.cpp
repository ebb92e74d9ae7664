#include "app/http/make_id.h"

#include "app/http/wire.h"

#include <fmt/format.h>

#include <random>

namespace parhelion::app {

std::string make_id(std::string_view prefix) {
  std::random_device random;
  return fmt::format("{}{:08x}{:08x}{:08x}", prefix, random(), random(), random());
}

std::string request_id_of(const HttpRequest& head) {
  const std::string_view given = head.field("x-request-id");
  return is_plain_token(given) ? std::string(given) : make_id("req_");
}

}  // namespace parhelion::app
