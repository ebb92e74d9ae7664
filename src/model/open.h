#pragma once

#include "model/mapping.h"

#include <filesystem>
#include <optional>
#include <string>

namespace parhelion::model {

/// Where the tensors of a model's adapters lie, and how they become parameters.
struct OpenedAdapter {
  state::Checkpoint checkpoint;
  state::Mapper mapper;
  std::string base = {};  ///< the model that its config names as the one it was trained on
};

/// A model and the checkpoint that its weights lie in.
struct OpenedModel {
  Model model;
  state::Checkpoint checkpoint;
  Mapping mapping;
  std::optional<OpenedAdapter> adapter = {};  ///< if the model has one
};

/// Opens a Hugging Face directory (config.json, optionally generation_config.json, safetensors),
/// the directory of a training checkpoint (the same with parameters under their own names) or a
/// GGUF file. A training checkpoint of an adapter opens with the base that it names.
///
/// Errors: invalid, corrupt or unsupported as the recipes and `state::open_checkpoint`, naming the
///         path, key or tensor; as with_adapter and adapter_base.
OpenedModel open_model(const std::filesystem::path& path);

/// Whether a directory holds parameters under their own names, as training saves them.
bool holds_own_parameters(const std::filesystem::path& directory);

/// Gives every parameter to `sink` under its own name and with its own shape, in whatever kind the
/// checkpoint holds it: those of the model, then those of its adapter.
///
/// Errors: invalid before anything is read if tensors are missing or unknown; invalid at a
///         parameter of the wrong shape.
void load_parameters(const OpenedModel& opened, const state::TensorSink& sink);

/// The same for the parameters of the adapter alone; nothing if there is none.
void load_adapter(const OpenedModel& opened, const state::TensorSink& sink);

}  // namespace parhelion::model
