#pragma once

#include "base/json.h"
#include "text/template_facts.h"
#include "text/tokenizer.h"

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace parhelion::text {

/// Bounds on what rendering a template may take.
struct TemplateLimits {
  std::int64_t steps = 5'000'000;          ///< values made, and each 32 bytes of text
  std::int64_t depth = 200;                ///< expressions and macros within each other
  std::int64_t output_bytes = 64ll << 20;  ///< of the text
};

/// What a chat template sees beside the messages.
struct ChatOptions {
  bool add_generation_prompt = false;
  std::optional<std::string> bos_token = {};  ///< absent: undefined in the template
  std::optional<std::string> eos_token = {};
  Json tools = {};                  ///< null: none
  Json variables = Json::Object{};  ///< an object of further variables, such as enable_thinking
  std::optional<std::tm> now = {};  ///< what strftime_now tells; absent: there is no such function
  TemplateLimits limits = {};
};

/// What a template sees of a tokenizer.
ChatOptions chat_options(const Tokenizer& tokenizer);

/// The same where the conversation is to be answered now: up to where the answer begins, with the
/// time in the zone of this machine.
ChatOptions prompt_options(const Tokenizer& tokenizer);

struct ParsedTemplate;

/// A chat template in the language of Jinja, as Transformers runs it. A handle to immutable data.
///
/// Threads: any number may render one template at a time.
class ChatTemplate {
 public:
  /// Errors: invalid if `source` is no template; unsupported, by name and line, for constructs
  /// which this build does not know.
  explicit ChatTemplate(std::string_view source);

  /// What the template uses.
  const TemplateFacts& facts() const;

  /// The text of a conversation.
  ///
  /// Errors: invalid if the template raises an exception or uses a value wrongly, or passes a
  /// limit; unsupported, by name and line, for methods and arguments which this build does not
  /// know.
  std::string render(const Json& messages, const ChatOptions& options = {}) const;

 private:
  std::shared_ptr<const ParsedTemplate> parsed_;
};

}  // namespace parhelion::text
