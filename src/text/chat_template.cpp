#include "text/chat_template.h"

#include "text/jinja/parser.h"
#include "text/jinja/runtime.h"

namespace parhelion::text {

struct ParsedTemplate {
  jinja::Block block;
};

ChatTemplate::ChatTemplate(std::string_view source)
    : parsed_(
          std::make_shared<const ParsedTemplate>(ParsedTemplate{jinja::parse_template(source)})) {}

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
