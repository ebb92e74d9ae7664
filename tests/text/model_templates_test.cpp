#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "text/template_support.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace parhelion::text {
namespace {

std::filesystem::path model_templates() {
  return std::filesystem::path(PARHELION_TEST_DATA) / "text/templates/models";
}

std::string hash_text(const std::string& text) {
  return hex(hash128(std::as_bytes(std::span(text))));
}

/// What rendering gives, in the words of the golden data: the hash of the text, or "raised" and the
/// message of the template's own exception, or "error" and the message of any other.
std::string model_outcome(const ChatTemplate& chat, const Json& messages,
                          const ChatOptions& options) {
  try {
    return hash_text(chat.render(messages, options));
  } catch (const Error& error) {
    const std::string_view what = error.what();
    if (error.kind() != ErrorKind::invalid) return std::string(what);
    const std::size_t message = what.find(": ") + 2;
    const bool is_raised = what.starts_with("chat template: ");
    return (is_raised ? "raised " : "error ") + std::string(what.substr(message));
  }
}

std::string expected_model_outcome(const Json& golden) {
  if (golden.is_string()) return golden.as_string("hash");
  const Json* raised = golden.find("raised");
  if (raised != nullptr) return "raised " + raised->as_string("raised");
  const std::string& error = golden.find("error")->as_string("error");
  if (error.starts_with("RecursionError")) return "error expressions are nested too deep";
  return "error " + error.substr(error.find(": ") + 2);
}

TEST(ModelTemplates, RenderAsJinjaDoes) {
  const Json golden = parse_json(read_file(model_templates() / "golden.json"), "golden.json");
  const Json::Array& options = golden.find("options")->as_array("options");
  for (const auto& [name, renders] : golden.find("templates")->as_object("templates")) {
    std::optional<ChatTemplate> parsed;
    EXPECT_NO_THROW(parsed.emplace(read_file(model_templates() / (name + ".jinja")))) << name;
    if (!parsed) continue;
    const ChatTemplate& chat = *parsed;
    for (const auto& [chat_name, outcomes] : renders.as_object("renders")) {
      const Json& messages = *golden.find("chats")->find(chat_name);
      for (std::size_t i = 0; i < options.size(); ++i) {
        EXPECT_EQ(model_outcome(chat, messages, read_golden_options(options[i])),
                  expected_model_outcome(outcomes.as_array("outcomes")[i]))
            << name << ", " << chat_name << ", options " << i;
      }
    }
  }
}

}  // namespace
}  // namespace parhelion::text
