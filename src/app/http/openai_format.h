#pragma once

#include "app/http/answer.h"
#include "app/http/served_model.h"
#include "base/json.h"

#include <memory>
#include <string>

namespace parhelion::app {

/// What both of OpenAI's older endpoints say of an answer beside its choices.
struct OpenAiAnswer {
  std::string id;
  std::int64_t created = 0;
  bool include_usage = false;  ///< of a stream, in a chunk of its own
  bool logs = false;           ///< log-probabilities are shown
  bool ids = false;            ///< token ids are shown
  /// Members of JSON beside the choices, each behind a comma; of a stream in its first chunk.
  std::string extra = {};
};

/// Answers of /v1/chat/completions. `model` outlives the format.
std::unique_ptr<AnswerFormat> make_chat_format(const ServedModel& model, OpenAiAnswer answer,
                                               std::int64_t choices);

/// What a choice of /v1/completions is made of beside what is drawn.
struct CompletionChoices {
  std::int64_t prompts = 1;
  std::int64_t sampled = 1;              ///< sequences of a prompt
  std::int64_t shown = 1;                ///< the likeliest of them
  std::vector<std::string> echoes = {};  ///< what each prompt's choices begin with; may be empty
};

/// Answers of /v1/completions. `model` outlives the format.
std::unique_ptr<AnswerFormat> make_completion_format(const ServedModel& model, OpenAiAnswer answer,
                                                     CompletionChoices choices);

/// An object with more members behind its own, as OpenAiAnswer has them.
std::string with_extra(Json::Object object, std::string_view extra);
/// Ids as a list.
Json ids_json(const std::vector<std::int32_t>& ids);
/// Usage as both have it.
Json openai_usage(const Usage& usage);
/// What ended a choice, in OpenAI's words.
std::string_view openai_finish(ChoiceEnd end);
/// The error of a stream, as an event.
void append_openai_failure(const ApiError& error, std::string& out);

}  // namespace parhelion::app
