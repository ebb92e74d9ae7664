#include "app/http/message.h"

#include <algorithm>

namespace parhelion::app {
namespace {

char field_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

bool same_field(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return field_lower(x) == field_lower(y); });
}

std::string_view HttpRequest::field(std::string_view name) const {
  const auto found = std::ranges::find_if(
      fields, [name](const HttpField& each) { return same_field(each.first, name); });
  return found == fields.end() ? std::string_view{} : std::string_view(found->second);
}

HttpRequest head_of(const HttpRequest& request) {
  return {.method = request.method,
          .path = request.path,
          .query = request.query,
          .fields = request.fields,
          .body = {},
          .id = request.id,
          .trace_id = request.trace_id,
          .label = request.label};
}

}  // namespace parhelion::app
