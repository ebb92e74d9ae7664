#pragma once

#include "text/tokenizer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace parhelion::text {

/// The tokenizer metadata of a GGUF file, as it stands there.
struct GgufVocabulary {
  std::string model = {};                      ///< tokenizer.ggml.model
  std::string pre = {};                        ///< tokenizer.ggml.pre
  std::vector<std::string> tokens = {};        ///< tokenizer.ggml.tokens
  std::vector<std::int32_t> token_types = {};  ///< tokenizer.ggml.token_type; may be empty
  std::vector<std::string> merges = {};        ///< tokenizer.ggml.merges
  std::optional<std::int64_t> bos_id = {};     ///< tokenizer.ggml.bos_token_id
  std::optional<std::int64_t> eos_id = {};     ///< tokenizer.ggml.eos_token_id
  std::optional<std::int64_t> unk_id = {};     ///< tokenizer.ggml.unknown_token_id
  std::optional<std::int64_t> pad_id = {};     ///< tokenizer.ggml.padding_token_id
  std::optional<bool> add_bos = {};            ///< tokenizer.ggml.add_bos_token
  std::optional<bool> add_eos = {};            ///< tokenizer.ggml.add_eos_token
};

/// Builds the tokenizer which the Hugging Face model of the same `pre` has: GGUF names the
/// pre-tokeniser and leaves out the normaliser, so both follow from the name.
///
/// Errors: unsupported if `model` is no byte-level BPE or `pre` is not known; corrupt if the lists
/// contradict each other.
/// Source: the GGUF specification; the values of `pre` as llama.cpp's convert_hf_to_gguf.py writes.
Tokenizer load_gguf_vocabulary(const GgufVocabulary& gguf);

}  // namespace parhelion::text
