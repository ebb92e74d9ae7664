#include "model/recipes/decoder_config.h"

#include "base/error.h"
#include "model/recipes/rope_config.h"

#include <fmt/format.h>

#include <utility>

namespace parhelion::model {
namespace {

GroupedAttention attention_from_config(ConfigKeys& keys, std::int64_t hidden,
                                       std::optional<std::int64_t> otherwise_head_dim) {
  GroupedAttention result;
  result.heads = keys.size("num_attention_heads");
  result.kv_heads = keys.size("num_key_value_heads", result.heads);
  if (!otherwise_head_dim && !keys.find("head_dim")) {
    ensure(hidden % result.heads == 0, ErrorKind::invalid,
           "{}: hidden_size is {}, expected a multiple of num_attention_heads = {}", keys.where(),
           hidden, result.heads);
    otherwise_head_dim = hidden / result.heads;
  }
  result.head_dim = keys.size("head_dim", otherwise_head_dim);
  result.projection_bias = result.output_bias = keys.flag("attention_bias", false);
  keys.expect("attention_dropout", 0);
  return result;
}

std::int32_t token_id_from(const Json& value, const std::string& where, std::int64_t vocabulary) {
  const std::int64_t id = value.as_int64(where);
  ensure(id >= 0 && id < vocabulary, ErrorKind::invalid, "{}: is {}, expected 0 to {}", where, id,
         vocabulary - 1);
  return static_cast<std::int32_t>(id);
}

/// A number of the sampling defaults within its range.
double sampling_number(ConfigKeys& keys, std::string_view key, double otherwise, double lowest,
                       double highest) {
  const Json* value = keys.find(key);
  if (!value) return otherwise;
  const double number = value->as_double(fmt::format("{}: {}", keys.where(), key));
  ensure(number >= lowest && number <= highest, ErrorKind::invalid,
         "{}: {} is {}, expected {} to {}", keys.where(), key, number, lowest, highest);
  return number;
}

Sampling sampling_from_config(ConfigKeys& keys, const SamplingRanges& ranges) {
  const Sampling& low = ranges.lowest;
  const Sampling& high = ranges.highest;
  const bool draws = keys.flag("do_sample", false);
  Sampling result;
  result.temperature = sampling_number(keys, "temperature", 1.0, low.temperature, high.temperature);
  result.top_k = static_cast<std::int64_t>(sampling_number(
      keys, "top_k", 0, static_cast<double>(low.top_k), static_cast<double>(high.top_k)));
  result.top_p = sampling_number(keys, "top_p", 1.0, low.top_p, high.top_p);
  result.min_p = sampling_number(keys, "min_p", 0.0, low.min_p, high.min_p);
  if (!draws) result = Sampling{};
  // A penalty counts for greedy choices too.
  result.repetition_penalty = sampling_number(keys, "repetition_penalty", 1.0,
                                              low.repetition_penalty, high.repetition_penalty);
  return result;
}

/// As `eos_ids_from_config` reads them; absent if there are none.
void add_eos_ids(const std::vector<std::int32_t>& eos_ids, Json::Object& members) {
  Json::Array array;
  for (const std::int32_t id : eos_ids) array.emplace_back(std::int64_t{id});
  if (array.size() == 1) members.emplace_back("eos_token_id", array.front());
  if (array.size() > 1) members.emplace_back("eos_token_id", std::move(array));
}

}  // namespace

Decoder decoder_from_config(ConfigKeys& keys, std::optional<std::int64_t> otherwise_head_dim) {
  Decoder result;
  result.vocabulary = keys.size("vocab_size");
  result.hidden = keys.size("hidden_size");
  result.layers = keys.size("num_hidden_layers", {}, kMaxLayers);
  result.norm_eps = keys.positive("rms_norm_eps", 1e-6);
  result.tied_head = keys.flag("tie_word_embeddings", false);
  result.attention = attention_from_config(keys, result.hidden, otherwise_head_dim);
  result.mlp.intermediate = keys.size("intermediate_size");
  result.rope = rope_from_config(keys);
  result.rope.positions = keys.size("max_position_embeddings");
  result.rope.dim = result.attention.head_dim;
  keys.expect("hidden_act", "silu");
  keys.expect("partial_rotary_factor", 1);
  keys.expect("quantization_config", nullptr);
  keys.expect("is_encoder_decoder", false);
  keys.expect("chunk_size_feed_forward", 0);
  keys.ignore({"_name_or_path", "_attn_implementation_autoset", "bos_token_id", "dtype", "id2label",
               "label2id", "output_attentions", "output_hidden_states", "pad_token_id",
               "problem_type", "return_dict", "torch_dtype", "transformers.js_config",
               "transformers_version", "use_cache"});
  return result;
}

Json::Object decoder_to_config(const Decoder& config, const std::vector<std::int32_t>& eos_ids) {
  const GroupedAttention& attention = config.attention;
  ensure(attention.projection_bias == attention.output_bias, ErrorKind::unsupported,
         "config.json: attention_bias speaks of all four projections, but the model has a bias {}",
         attention.output_bias ? "in o_proj alone" : "in q_proj, k_proj and v_proj alone");
  Json::Object members{{"vocab_size", config.vocabulary},
                       {"hidden_size", config.hidden},
                       {"intermediate_size", config.mlp.intermediate},
                       {"num_hidden_layers", config.layers},
                       {"num_attention_heads", attention.heads},
                       {"num_key_value_heads", attention.kv_heads},
                       {"head_dim", attention.head_dim},
                       {"hidden_act", "silu"},
                       {"max_position_embeddings", config.rope.positions},
                       {"rms_norm_eps", config.norm_eps},
                       {"tie_word_embeddings", config.tied_head},
                       {"attention_bias", attention.projection_bias}};
  rope_to_config(config.rope, members);
  add_eos_ids(eos_ids, members);
  return members;
}

Model decoder_model(std::string architecture, const Decoder& config, std::string_view where) {
  const GroupedAttention& attention = config.attention;
  ensure(attention.heads % attention.kv_heads == 0, ErrorKind::invalid,
         "{}: has {} heads, expected a multiple of its {} key-value heads", where, attention.heads,
         attention.kv_heads);
  ensure(attention.head_dim % 2 == 0, ErrorKind::invalid, "{}: head dim is {}, expected even",
         where, attention.head_dim);
  return {.architecture = std::move(architecture),
          .vocabulary = config.vocabulary,
          .hidden = config.hidden,
          .layers = config.layers,
          .heads = attention.heads,
          .kv_heads = attention.kv_heads,
          .head_dim = attention.head_dim,
          .max_positions = config.rope.positions,
          .tied_head = config.tied_head,
          .build = [config](ir::Builder& builder, ir::Kind kind, Context& context) {
            return decoder(builder, kind, config, context);
          }};
}

std::vector<std::int32_t> eos_ids_from_config(ConfigKeys& keys, std::int64_t vocabulary) {
  const std::string where = fmt::format("{}: eos_token_id", keys.where());
  const Json* value = keys.find("eos_token_id");
  if (!value) return {};
  if (!value->is_array()) return {token_id_from(*value, where, vocabulary)};
  std::vector<std::int32_t> result;
  for (const Json& id : value->as_array(where))
    result.push_back(token_id_from(id, where, vocabulary));
  return result;
}

double initial_deviation_from_config(ConfigKeys& keys) {
  return keys.positive("initializer_range", Model{}.initial_deviation);
}

void apply_generation_config(const Json& config, Model& model) {
  ConfigKeys keys(config, "generation_config.json");
  const std::vector<std::int32_t> eos_ids = eos_ids_from_config(keys, model.vocabulary);
  const Sampling sampling = sampling_from_config(keys, model.sampling_ranges);
  keys.expect("num_beams", 1);
  keys.ignore({"_from_model_config", "bos_token_id", "cache_implementation", "max_length",
               "max_new_tokens", "output_attentions", "output_hidden_states", "output_scores",
               "pad_token_id", "return_dict_in_generate", "transformers_version", "use_cache"});
  keys.finish();
  if (!eos_ids.empty()) model.eos_ids = eos_ids;
  model.sampling = sampling;
}

Json generation_config_of(const Model& model) {
  const Sampling& sampling = model.sampling;
  const bool draws = sampling != Sampling{.repetition_penalty = sampling.repetition_penalty};
  Json::Object members{{"do_sample", draws}};
  if (draws) {
    members.emplace_back("temperature", sampling.temperature);
    members.emplace_back("top_k", sampling.top_k);
    members.emplace_back("top_p", sampling.top_p);
    members.emplace_back("min_p", sampling.min_p);
  }
  if (sampling.repetition_penalty != 1)
    members.emplace_back("repetition_penalty", sampling.repetition_penalty);
  add_eos_ids(model.eos_ids, members);
  return members;
}

}  // namespace parhelion::model
