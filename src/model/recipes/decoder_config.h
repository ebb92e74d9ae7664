#pragma once

#include "model/model.h"
#include "model/recipes/config_keys.h"

#include <optional>

namespace parhelion::model {

/// Reads what the configs of dense decoders have in common. An absent `head_dim` is
/// `otherwise_head_dim`, or else hidden_size / num_attention_heads.
///
/// Errors: as ConfigKeys.
Decoder decoder_from_config(ConfigKeys& keys, std::optional<std::int64_t> otherwise_head_dim = {});

/// The members of a config.json that give `config` back, with the tokens that end a sequence. They
/// are written in the form that Transformers 4 and 5 read.
///
/// Errors: unsupported for biases that such configs have no key for.
Json::Object decoder_to_config(const Decoder& config, const std::vector<std::int32_t>& eos_ids);

/// The model that `config` describes.
///
/// Errors: invalid if sizes do not fit each other; `where` names the file.
Model decoder_model(std::string architecture, const Decoder& config, std::string_view where);

/// Tokens that end a sequence: `eos_token_id` is a number, a list or absent.
///
/// Errors: as ConfigKeys; invalid if an id is outside the vocabulary.
std::vector<std::int32_t> eos_ids_from_config(ConfigKeys& keys, std::int64_t vocabulary);

/// The deviation that `initializer_range` gives weights which begin at random; 0.02 if absent.
///
/// Errors: as ConfigKeys.
double initial_deviation_from_config(ConfigKeys& keys);

/// Takes end tokens and sampling defaults from a generation_config.json. Greedy unless `do_sample`.
///
/// Errors: as ConfigKeys.
void apply_generation_config(const Json& config, Model& model);

/// The generation_config.json that gives the model's end tokens and sampling defaults back.
Json generation_config_of(const Model& model);

}  // namespace parhelion::model
