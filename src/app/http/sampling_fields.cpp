#include "app/http/sampling_fields.h"

#include "app/http/api_error.h"
#include "base/hash.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <random>

namespace parhelion::app {
namespace {

constexpr double kAny = std::numeric_limits<double>::max();
constexpr std::int64_t kMostListed = 1024;  // biased, banned, allowed or stop ids
constexpr std::int64_t kMostBadWords = 128;
constexpr std::int64_t kMostStops = 16;
constexpr std::size_t kMostStopBytes = 256;
constexpr std::int64_t kMostCount = std::numeric_limits<std::int32_t>::max();

std::uint64_t hash_of(std::string_view text) {
  return hash128(std::as_bytes(std::span(text.data(), text.size()))).low;
}

std::uint64_t read_seed(Fields& fields) {
  const Json* value = fields.find("seed");
  if (value == nullptr) {
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
  }
  if (!value->is_integer())
    refuse_value("seed", fmt::format("seed: is {}, expected integer", value->type_name()));
  // An unsigned seed above 2^63 keeps its bits.
  std::uint64_t seed = 0;
  const std::string text = write_json(*value);
  const bool is_negative = text.front() == '-';
  std::from_chars(text.data() + (is_negative ? 1 : 0), text.data() + text.size(), seed);
  return is_negative ? std::uint64_t{0} - seed : seed;
}

std::int32_t read_bias_id(const std::string& text, const ServedModel& model) {
  std::int32_t id = -1;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), id);
  const bool is_id = code == std::errc() && end == text.data() + text.size() && id >= 0;
  if (!is_id || id >= model.vocabulary)
    refuse_value("logit_bias", fmt::format("logit_bias: '{}' is no token id below {}",
                                           text.substr(0, 20), model.vocabulary));
  return id;
}

void read_bias(Fields& fields, const ServedModel& model, serve::Request& request) {
  const Json* value = fields.find("logit_bias");
  if (value == nullptr) return;
  if (!value->is_object())
    refuse_value("logit_bias",
                 fmt::format("logit_bias: is {}, expected object", value->type_name()));
  const Json::Object& entries = value->as_object("logit_bias");
  if (static_cast<std::int64_t>(entries.size()) > kMostListed)
    refuse_value("logit_bias", fmt::format("logit_bias: has {} ids, expected at most {}",
                                           entries.size(), kMostListed));
  for (const auto& [id, bias] : entries) {
    const double amount = bias.is_number() ? bias.as_double("logit_bias") : kAny;
    if (!(amount >= -100 && amount <= 100))
      refuse_value("logit_bias", fmt::format("logit_bias: of {} expected -100 to 100", id));
    request.logit_bias.emplace_back(read_bias_id(id, model), static_cast<float>(amount));
  }
}

void check_ids(const std::vector<std::int32_t>& ids, const ServedModel& model,
               std::string_view name) {
  for (const std::int32_t id : ids) {
    if (id >= model.vocabulary)
      refuse_value(name, fmt::format("{}: {} is no token id below {}", name, id, model.vocabulary));
  }
}

void read_lists(Fields& fields, const ServedModel& model, serve::Request& request) {
  request.stop_ids = fields.ids("stop_token_ids", kMostListed);
  request.allowed_ids = fields.ids("allowed_token_ids", model.vocabulary);
  request.bad_ids = fields.ids("bad_token_ids", kMostListed);
  check_ids(request.stop_ids, model, "stop_token_ids");
  check_ids(request.allowed_ids, model, "allowed_token_ids");
  check_ids(request.bad_ids, model, "bad_token_ids");
}

}  // namespace

void read_sampling(Fields& fields, const ServedModel& model, serve::Request& request) {
  request.temperature = fields.number("temperature", 0, kAny);
  request.top_p = fields.number("top_p", 0, 1);
  if (const auto top_k = fields.integer("top_k", -1, kMostCount))
    request.top_k = static_cast<double>(std::max<std::int64_t>(0, *top_k));
  request.min_p = fields.number("min_p", 0, 1);
  request.repetition_penalty =
      fields.number("repetition_penalty", std::numeric_limits<double>::min(), kAny);
  request.presence_penalty = fields.number("presence_penalty", -2, 2);
  request.frequency_penalty = fields.number("frequency_penalty", -2, 2);
  request.seed = read_seed(fields);
  request.sequences = fields.integer("n", 1, model.most_sequences).value_or(1);
  request.min_tokens = fields.integer("min_tokens", 0, kMostCount).value_or(0);
  request.ignore_stop_ids = fields.boolean("ignore_eos", false);
  request.priority = static_cast<int>(fields.integer("priority", 0, 9).value_or(5));
  if (const auto salt = fields.text("cache_salt")) request.cache_salt = hash_of(*salt);
  read_bias(fields, model, request);
  read_lists(fields, model, request);
}

std::vector<std::vector<std::int32_t>> read_bad_words(Fields& fields, const ServedModel& model,
                                                      serve::Request& request) {
  std::vector<std::vector<std::int32_t>> words;
  for (const std::string& word : fields.texts("bad_words", kMostBadWords)) {
    if (word.empty() || word.size() > kMostStopBytes)
      refuse_value("bad_words", fmt::format("bad_words: a word has {} bytes, expected 1 to {}",
                                            word.size(), kMostStopBytes));
    for (const std::string& written : {word, " " + word}) {
      auto ids = model.tokenizer.encode(written, {.special_text = text::SpecialText::plain});
      if (ids.size() == 1) {
        request.bad_ids.push_back(ids.front());
      } else {
        words.push_back(std::move(ids));
      }
    }
  }
  return words;
}

void bound_tokens(const ServedModel& model, std::optional<std::int64_t> asked,
                  std::optional<std::int64_t> usual, serve::Request& request) {
  const auto prompt = static_cast<std::int64_t>(request.prompt.size());
  const std::int64_t room = model.context_tokens - prompt;
  if (room < asked.value_or(1)) {
    refuse(400, "context_length_exceeded",
           fmt::format("the prompt has {} tokens and {} were asked for, which the context of {} "
                       "tokens has no room for",
                       prompt, asked.value_or(1), model.context_tokens),
           "messages");
  }
  request.max_tokens = asked.value_or(std::min(room, usual.value_or(room)));
  if (request.min_tokens > request.max_tokens)
    refuse_value("min_tokens", fmt::format("min_tokens: is {}, expected at most {}",
                                           request.min_tokens, request.max_tokens));
}

std::optional<std::int64_t> read_max_tokens(Fields& fields) {
  const auto old_name = fields.integer("max_tokens", 1, kMostCount);
  const auto new_name = fields.integer("max_completion_tokens", 1, kMostCount);
  if (old_name && new_name && *old_name != *new_name)
    refuse_value("max_tokens", "max_tokens and max_completion_tokens differ");
  return new_name ? new_name : old_name;
}

ChoiceOptions read_choice_options(Fields& fields, const ServedModel& model,
                                  std::string_view stop_name) {
  std::vector<std::string> stops = fields.texts(stop_name, kMostStops);
  for (const std::string& stop : stops) {
    if (stop.empty() || stop.size() > kMostStopBytes)
      refuse_value(stop_name, fmt::format("{}: a string has {} bytes, expected 1 to {}", stop_name,
                                          stop.size(), kMostStopBytes));
  }
  const auto& own = model.sampling.stop_strings;
  stops.insert(stops.end(), own.begin(), own.end());
  ChoiceOptions options;
  options.reply.stops = std::move(stops);
  if (fields.boolean("include_stop_str_in_output", false))
    options.reply.stop_text = text::StopText::shown;
  if (fields.boolean("stop_in_reasoning", false))
    options.reply.stop_scope = text::StopScope::everywhere;
  if (!fields.boolean("skip_special_tokens", true))
    options.reply.special_tokens = text::SpecialTokens::keep;
  return options;
}

std::optional<std::int64_t> read_thinking_budget(Fields& fields) {
  return fields.integer("thinking_budget", 1, kMostCount);
}

void accept_idle_fields(Fields& fields) {
  fields.accept({"user", "metadata", "service_tier", "safety_identifier", "prompt_cache_key",
                 "prompt_cache_retention", "retention"});
}

std::uint64_t fairness_key(std::string_view label) { return label.empty() ? 0 : hash_of(label); }

}  // namespace parhelion::app
