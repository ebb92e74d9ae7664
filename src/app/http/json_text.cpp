#include "app/http/json_text.h"

#include <fmt/format.h>

namespace parhelion::app {
namespace {

bool needs_escape(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

void append_escape(char c, std::string& out) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
}

}  // namespace

void append_json(std::string_view text, std::string& out) {
  out += '"';
  std::size_t plain = 0;  // where what is not yet appended begins
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!needs_escape(text[i])) continue;
    out.append(text, plain, i - plain);
    append_escape(text[i], out);
    plain = i + 1;
  }
  out.append(text, plain);
  out += '"';
}

std::string json_ids(std::span<const std::int32_t> ids) {
  return fmt::format("[{}]", fmt::join(ids, ","));
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json(text, out);
  return out;
}

}  // namespace parhelion::app
