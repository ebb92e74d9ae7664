#include "text/chat_template.h"

#include "text/jinja/facts.h"
#include "text/jinja/parser.h"
#include "text/jinja/runtime.h"

#include <utility>

namespace parhelion::text {

struct ParsedTemplate {
  jinja::Block block;
  TemplateFacts facts;
};

ChatOptions chat_options(const Tokenizer& tokenizer) {
  ChatOptions options;
  options.bos_token = tokenizer.special_text(tokenizer.special_ids().bos);
  options.eos_token = tokenizer.special_text(tokenizer.special_ids().eos);
  return options;
}

ChatOptions prompt_options(const Tokenizer& tokenizer) {
  ChatOptions options = chat_options(tokenizer);
  options.add_generation_prompt = true;
  const std::time_t now = std::time(nullptr);
  ::localtime_r(&now, &options.now.emplace());
  return options;
}

ChatTemplate::ChatTemplate(std::string_view source) {
  jinja::Block block = jinja::parse_template(source);
  TemplateFacts facts = jinja::collect_facts(block);
  parsed_ =
      std::make_shared<const ParsedTemplate>(ParsedTemplate{std::move(block), std::move(facts)});
}

const TemplateFacts& ChatTemplate::facts() const { return parsed_->facts; }

std::string ChatTemplate::render(const Json& messages, const ChatOptions& options) const {
  jinja::Renderer renderer(options.limits, options.now);
  renderer.set("messages", jinja::from_json(messages));
  renderer.set("tools", jinja::from_json(options.tools));
  renderer.set("documents", jinja::None{});
  renderer.set("add_generation_prompt", options.add_generation_prompt);
  if (options.bos_token) renderer.set("bos_token", *options.bos_token);
  if (options.eos_token) renderer.set("eos_token", *options.eos_token);
  for (const auto& [name, value] : options.variables.as_object("chat template: variables")) {
    renderer.set(name, jinja::from_json(value));
  }
  return renderer.render(parsed_->block);
}

}  // namespace parhelion::text
