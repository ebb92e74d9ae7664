#pragma once

#include "app/http/choice_reader.h"
#include "app/http/fields.h"
#include "app/http/served_model.h"
#include "serve/request.h"

#include <string_view>

namespace parhelion::app {

/// Reads what all endpoints that generate have in common: sampling values, seed, stop ids, bans,
/// bias, priority, salt. Names are OpenAI's and their usual extensions.
///
/// Errors: 400 `invalid_value`, `unsupported_feature`.
void read_sampling(Fields& fields, const ServedModel& model, serve::Request& request);

/// Words of the field `bad_words` which are several tokens, at the beginning of a text or within
/// one; those of one token are banned by the request.
std::vector<std::vector<std::int32_t>> read_bad_words(Fields& fields, const ServedModel& model,
                                                      serve::Request& request);

/// Sets how many tokens may be drawn: `asked`, else `usual`, else what the context has room for.
///
/// Errors: 400 `context_length_exceeded` if prompt and asked tokens do not fit the context.
void bound_tokens(const ServedModel& model, std::optional<std::int64_t> asked,
                  std::optional<std::int64_t> usual, serve::Request& request);

/// Most tokens by `max_tokens` or `max_completion_tokens`, which must not differ.
std::optional<std::int64_t> read_max_tokens(Fields& fields);

/// How choices are shown: stop strings of the field `stop_name` and of the model, whether they and
/// special tokens are shown.
///
/// Errors: 400 `invalid_value` for more than 16 strings, or one that is empty or longer than 256
///         bytes.
ChoiceOptions read_choice_options(Fields& fields, const ServedModel& model,
                                  std::string_view stop_name);

/// Most tokens that the model may think, by `thinking_budget`.
std::optional<std::int64_t> read_thinking_budget(Fields& fields);

/// Accepts the fields that change nothing here.
void accept_idle_fields(Fields& fields);

/// Fairness among clients: requests of one label take turns with those of another.
std::uint64_t fairness_key(std::string_view label);

}  // namespace parhelion::app
