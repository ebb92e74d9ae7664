#pragma once

#include "base/setting.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

namespace parhelion::train {

/// Table `[evaluation]`: what is measured and shown while training goes on.
struct EvaluationSettings {
  std::vector<std::filesystem::path> files;
  std::int64_t every = 0;
  std::int64_t microbatches = 0;
  std::vector<std::string> prompts;
  std::vector<std::string> chats;
  std::int64_t max_tokens = 64;
  bool operator==(const EvaluationSettings&) const = default;
};

constexpr auto settings(const EvaluationSettings*) {
  return std::tuple(
      setting("files", &EvaluationSettings::files,
              "held-out documents whose loss is computed, read and packed as those of `data` are"),
      required_setting("every", &EvaluationSettings::every,
                       "steps from one evaluation to the next, at least 1; the weights before "
                       "the first step and behind the last are evaluated too"),
      setting("microbatches", &EvaluationSettings::microbatches,
              "microbatches of an evaluation; 0 takes all documents"),
      setting("prompts", &EvaluationSettings::prompts,
              "texts which the model continues, greedily, at each evaluation"),
      setting("chats", &EvaluationSettings::chats,
              "questions which the model answers by its chat template, greedily, at each "
              "evaluation"),
      setting("max_tokens", &EvaluationSettings::max_tokens,
              "the most tokens of a continuation or answer, at least 1"));
}

}  // namespace parhelion::train
