#include "model/recipes/qwen3/qwen3.h"

#include "base/error.h"
#include "model/recipes/decoder_config.h"
#include "model/recipes/decoder_gguf.h"

namespace parhelion::model {
namespace {

/// What Transformers takes where the key is absent.
constexpr std::int64_t kQwen3HeadDim = 128;

void refuse_windows(ConfigKeys& keys) {
  keys.expect("use_sliding_window", false);
  keys.ignore({"sliding_window", "max_window_layers"});
  const Json* types = keys.find("layer_types");
  if (!types) return;
  for (const Json& type : types->as_array("config.json: layer_types"))
    ensure(type == Json("full_attention"), ErrorKind::unsupported,
           "config.json: layer_types has {}, expected \"full_attention\"", write_json(type));
}

}  // namespace

Model qwen3_from_config(const Json& config) {
  ConfigKeys keys(config, "config.json");
  keys.expect("model_type", "qwen3");
  keys.expect("architectures", Json::Array{"Qwen3ForCausalLM"});
  Decoder form = decoder_from_config(keys, kQwen3HeadDim);
  form.attention.qk_norm_eps = form.norm_eps;
  refuse_windows(keys);
  const std::vector<std::int32_t> eos_ids = eos_ids_from_config(keys, form.vocabulary);
  const double initial_deviation = initial_deviation_from_config(keys);
  keys.finish();
  Model model = decoder_model("qwen3", form, "config.json");
  model.eos_ids = eos_ids;
  model.initial_deviation = initial_deviation;
  return model;
}

Model qwen3_from_gguf(const state::Checkpoint& checkpoint) {
  Decoder form = decoder_from_gguf(checkpoint, "qwen3");
  form.attention.qk_norm_eps = form.norm_eps;
  Model model = decoder_model("qwen3", form, checkpoint.where());
  model.eos_ids = eos_ids_from_gguf(*checkpoint.metadata(), form.vocabulary);
  return model;
}

Json qwen3_to_config(const Decoder& form, const std::vector<std::int32_t>& eos_ids) {
  ensure(!form.mlp.bias, ErrorKind::unsupported,
         "config.json: has no key for the biases of a qwen3 model's MLP");
  Json::Object members = decoder_to_config(form, eos_ids);
  members.emplace_back("model_type", "qwen3");
  members.emplace_back("architectures", Json::Array{"Qwen3ForCausalLM"});
  return members;
}

Json qwen3_gguf_to_config(const state::Checkpoint& checkpoint) {
  const Decoder form = decoder_from_gguf(checkpoint, "qwen3");
  return qwen3_to_config(form, eos_ids_from_gguf(*checkpoint.metadata(), form.vocabulary));
}

}  // namespace parhelion::model
