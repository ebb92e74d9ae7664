#include "app/train_generation.h"

#include "app/chat_prompt.h"
#include "base/error.h"
#include "prepare/make_contract.h"
#include "serve/complete.h"
#include "text/detokenizer.h"

#include <algorithm>

namespace parhelion::app {
namespace {

text::PromptText rendered_chat(const train::TokenRules& rules, const std::string& question) {
  ensure(rules.chat_template.has_value(), ErrorKind::invalid,
         "evaluation.chats: the model has no chat template, expected one");
  return chat_prompt(*rules.chat_template, rules.tokenizer, question);
}

}  // namespace

TrainGeneration::TrainGeneration(const model::Model& model, const train::Job& job,
                                 const train::TokenRules& rules, exec::Executor& executor)
    : tokenizer_(rules.tokenizer), max_tokens_(job.evaluation->max_tokens) {
  for (const std::string& prompt : job.evaluation->prompts) add(prompt, {prompt});
  for (const std::string& chat : job.evaluation->chats) add(chat, rendered_chat(rules, chat));
  std::int64_t longest = 0;
  for (const Prompt& prompt : prompts_) longest = std::max(longest, std::ssize(prompt.ids));
  const std::int64_t context = std::min(model.max_positions, longest + max_tokens_);
  engine_ = std::make_unique<serve::Engine>(
      prepare::make_contract(model,
                             {.kind = kind(job.model.dtype),
                              .context_tokens = context,
                              .catalogue = {prepare::one_row(1, 1), prepare::one_row(32, 1)}}),
      executor, serve::EngineSettings{.weights = exec::Weights::trained});
}

void TrainGeneration::add(std::string text, const text::PromptText& rendered) {
  const text::Frame frame = tokenizer_.adds_bos() ? text::Frame::bos : text::Frame::none;
  prompts_.push_back(
      {std::move(text),
       tokenizer_.encode(rendered.text, {.frame = frame, .plain_at = rendered.plain_at})});
}

std::vector<train::Generated> TrainGeneration::run() {
  std::vector<train::Generated> result;
  for (const Prompt& prompt : prompts_) {
    text::Detokenizer detokenizer(tokenizer_, text::SpecialTokens::skip, text::UnknownIds::replace);
    std::string text;
    serve::complete(*engine_, {.prompt = prompt.ids, .max_tokens = max_tokens_, .temperature = 0.0},
                    [&](std::int32_t id) { text += detokenizer.push(id); });
    result.push_back({.prompt = prompt.text, .text = text + detokenizer.flush()});
  }
  return result;
}

}  // namespace parhelion::app
