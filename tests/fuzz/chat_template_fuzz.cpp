// A template, up to the first NUL, renders the same text twice within its limits, or is refused.
// What follows the NUL are the messages as JSON.
#include "base/error.h"
#include "base/json.h"
#include "fuzz/fuzz.h"
#include "text/chat_template.h"

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace {

using parhelion::Error;
using parhelion::ErrorKind;
using parhelion::Json;

constexpr std::string_view kMessages =
    R"([{"role":"system","content":" s "},{"role":"user","content":"h\u00e9"},)"
    R"({"role":"assistant","content":"<think>t</think>a","tool_calls":[{"id":"1","type":"function",)"
    R"("function":{"name":"f","arguments":{"x":[1,2.5,null,true]}}}]},{"role":"tool","content":"r"}])";

Json read_messages(std::string_view text) try {
  return parhelion::parse_json(text.empty() ? kMessages : text, "messages",
                               {.depth = 32, .values = 1000});
} catch (const Error&) {
  return parhelion::parse_json(kMessages, "messages");
}

/// The text, or nothing if the template is refused.
std::optional<std::string> render_or_refuse(std::string_view source, const Json& messages) try {
  parhelion::text::ChatOptions options;
  options.add_generation_prompt = true;
  options.bos_token = "<s>";
  options.tools = Json::Array{Json::Object{{"name", Json("f")}}};
  options.now = std::tm{};
  options.limits = {.steps = 20'000, .depth = 100, .output_bytes = 1 << 20};
  return parhelion::text::ChatTemplate(source).render(messages, options);
} catch (const Error& error) {
  if (error.kind() != ErrorKind::invalid && error.kind() != ErrorKind::unsupported) throw;
  return std::nullopt;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = input.find('\0');
  const std::string_view source = input.substr(0, end);
  const Json messages = read_messages(end == std::string_view::npos ? "" : input.substr(end + 1));
  if (render_or_refuse(source, messages) != render_or_refuse(source, messages)) std::abort();
  return 0;
}
