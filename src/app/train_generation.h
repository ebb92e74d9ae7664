#pragma once

#include "exec/executor.h"
#include "model/model.h"
#include "serve/engine.h"
#include "text/prompt_text.h"
#include "train/config/job.h"
#include "train/data/tokenise.h"
#include "train/loop/events.h"

#include <memory>
#include <vector>

namespace parhelion::app {

/// Continues a job's prompts with the weights as they are on the executor: the serving programs
/// read the trainer's parameter buffers in place.
class TrainGeneration {
 public:
  /// Plans the serving programs beside the trainer's.
  ///
  /// Errors: invalid if the job has chats and the model no chat template, or a prompt leaves no
  ///         room in the context.
  TrainGeneration(const model::Model& model, const train::Job& job, const train::TokenRules& rules,
                  exec::Executor& executor);

  /// Greedy continuations of all prompts and chats.
  std::vector<train::Generated> run();

 private:
  struct Prompt {
    std::string text;
    std::vector<std::int32_t> ids;
  };
  void add(std::string text, const text::PromptText& rendered);

  text::Tokenizer tokenizer_;
  std::int64_t max_tokens_;
  std::vector<Prompt> prompts_;
  std::unique_ptr<serve::Engine> engine_;
};

}  // namespace parhelion::app
