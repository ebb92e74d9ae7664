#include "model/recipes/llama/llama.h"

#include "model/recipes/decoder_config.h"
#include "model/recipes/decoder_gguf.h"

namespace parhelion::model {

Model llama_from_config(const Json& config) {
  ConfigKeys keys(config, "config.json");
  keys.expect("model_type", "llama");
  keys.expect("architectures", Json::Array{"LlamaForCausalLM"});
  Decoder form = decoder_from_config(keys);
  form.mlp.bias = keys.flag("mlp_bias", false);
  keys.expect("pretraining_tp", 1);
  keys.expect("rope_interleaved", false);
  keys.ignore({"is_llama_config"});
  const std::vector<std::int32_t> eos_ids = eos_ids_from_config(keys, form.vocabulary);
  const double initial_deviation = initial_deviation_from_config(keys);
  keys.finish();
  Model model = decoder_model("llama", form, "config.json");
  model.eos_ids = eos_ids;
  model.initial_deviation = initial_deviation;
  return model;
}

Model llama_from_gguf(const state::Checkpoint& checkpoint) {
  const Decoder form = decoder_from_gguf(checkpoint, "llama");
  Model model = decoder_model("llama", form, checkpoint.where());
  model.eos_ids = eos_ids_from_gguf(*checkpoint.metadata(), form.vocabulary);
  model.gguf_rope_rows = state::RopeLayout::interleaved;
  return model;
}

Json llama_to_config(const Decoder& form, const std::vector<std::int32_t>& eos_ids) {
  Json::Object members = decoder_to_config(form, eos_ids);
  members.emplace_back("mlp_bias", form.mlp.bias);
  members.emplace_back("model_type", "llama");
  members.emplace_back("architectures", Json::Array{"LlamaForCausalLM"});
  return members;
}

Json llama_gguf_to_config(const state::Checkpoint& checkpoint) {
  const Decoder form = decoder_from_gguf(checkpoint, "llama");
  return llama_to_config(form, eos_ids_from_gguf(*checkpoint.metadata(), form.vocabulary));
}

}  // namespace parhelion::model
