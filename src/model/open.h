#pragma once

#include "model/mapping.h"

#include <filesystem>

namespace parhelion::model {

/// A model and the checkpoint that its weights lie in.
struct OpenedModel {
  Model model;
  state::Checkpoint checkpoint;
  Mapping mapping;
};

/// Opens a Hugging Face directory (config.json, optionally generation_config.json, safetensors),
/// the directory of a training checkpoint (the same with parameters under their own names) or a
/// GGUF file.
///
/// Errors: invalid, corrupt or unsupported as the recipes and `state::open_checkpoint`, naming the
///         path, key or tensor.
OpenedModel open_model(const std::filesystem::path& path);

/// Whether a directory holds parameters under their own names, as training saves them.
bool holds_own_parameters(const std::filesystem::path& directory);

/// Gives every parameter to `sink` under its own name and with its own shape, in whatever kind the
/// checkpoint holds it.
///
/// Errors: invalid before anything is read if tensors are missing or unknown; invalid at a
///         parameter of the wrong shape.
void load_parameters(const OpenedModel& opened, const state::TensorSink& sink);

}  // namespace parhelion::model
