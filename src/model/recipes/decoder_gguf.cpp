#include "model/recipes/decoder_gguf.h"

#include "base/error.h"
#include "model/recipes/gguf_keys.h"
#include "model/recipes/rope_gguf.h"

#include <algorithm>

namespace parhelion::model {
namespace {

GroupedAttention attention_from_gguf(GgufKeys& keys, const state::Checkpoint& checkpoint,
                                     std::int64_t hidden) {
  GroupedAttention result;
  result.heads = keys.size("attention.head_count");
  result.kv_heads = keys.size("attention.head_count_kv", result.heads);
  const bool named = keys.has("attention.key_length");
  ensure(named || hidden % result.heads == 0, ErrorKind::invalid,
         "embedding_length is {}, expected a multiple of attention.head_count = {}", hidden,
         result.heads);
  result.head_dim = named ? keys.size("attention.key_length") : hidden / result.heads;
  const std::int64_t value_length = keys.size("attention.value_length", result.head_dim);
  ensure(value_length == result.head_dim, ErrorKind::unsupported,
         "attention.value_length is {}, expected attention.key_length = {}", value_length,
         result.head_dim);
  result.projection_bias = checkpoint.find("blk.0.attn_q.bias") != nullptr;
  result.output_bias = checkpoint.find("blk.0.attn_output.bias") != nullptr;
  return result;
}

/// Rows of the embedding, which files without the key `vocab_size` have too.
std::int64_t vocabulary_from_gguf(GgufKeys& keys, const state::Checkpoint& checkpoint) {
  const state::TensorView& table = checkpoint.at("token_embd.weight");
  ensure(table.shape.size() == 2, ErrorKind::invalid,
         "token_embd.weight: has shape {}, expected two extents", state::shape_text(table.shape));
  return keys.size("vocab_size", table.shape[0]);
}

}  // namespace

Decoder decoder_from_gguf(const state::Checkpoint& checkpoint, std::string_view architecture) {
  ensure(checkpoint.metadata() != nullptr, ErrorKind::bug, "{}: has no gguf keys",
         checkpoint.where());
  GgufKeys keys(*checkpoint.metadata(), architecture);
  Decoder result;
  result.vocabulary = vocabulary_from_gguf(keys, checkpoint);
  result.hidden = keys.size("embedding_length");
  result.layers = keys.size("block_count", {}, kMaxLayers);
  result.norm_eps = keys.positive("attention.layer_norm_rms_epsilon");
  result.tied_head = checkpoint.find("output.weight") == nullptr;
  result.attention = attention_from_gguf(keys, checkpoint, result.hidden);
  result.mlp.intermediate = keys.size("feed_forward_length");
  result.mlp.bias = checkpoint.find("blk.0.ffn_up.bias") != nullptr;
  result.rope = rope_from_gguf(keys, checkpoint, result.attention.head_dim);
  result.rope.positions = keys.size("context_length");
  keys.ignore({"rope.scaling.finetuned", "rope.scaling.original_context_length"});
  keys.finish();
  return result;
}

std::vector<std::int32_t> eos_ids_from_gguf(const state::GgufMetadata& metadata,
                                            std::int64_t vocabulary) {
  std::vector<std::int32_t> result;
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"}) {
    if (!metadata.find(key)) continue;
    const std::int64_t id = metadata.integer(key);
    ensure(id >= 0 && id < vocabulary, ErrorKind::invalid, "{} is {}, expected 0 to {}", key, id,
           vocabulary - 1);
    const auto token = static_cast<std::int32_t>(id);
    if (std::find(result.begin(), result.end(), token) == result.end()) result.push_back(token);
  }
  return result;
}

}  // namespace parhelion::model
