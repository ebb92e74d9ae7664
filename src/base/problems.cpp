#include "base/problems.h"

namespace parhelion {

void Problems::raise(std::string_view where) const {
  std::string text;
  for (const std::string& message : messages_) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", where, message);
  }
  ensure(messages_.empty(), ErrorKind::invalid, "{}", text);
}

}  // namespace parhelion
