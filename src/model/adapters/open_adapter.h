#pragma once

#include "model/adapters/adapter_config.h"
#include "model/open.h"

#include <filesystem>
#include <string>

namespace parhelion::model {

/// Whether a directory holds an adapter: Hugging Face's PEFT layout, or a training checkpoint of a
/// run that trained one.
bool is_adapter(const std::filesystem::path& directory);

/// A hash of all tensors of a checkpoint, whatever files they lie in: equal digests, equal weights.
std::string weights_digest(const state::Checkpoint& checkpoint);

/// Opens an adapter for a model without one and puts it beside the model's weights.
///
/// Errors: as read_adapter_config; invalid, naming the tensor, if one is missing, unknown or of
///         another shape than rank and model ask for; invalid if the adapter says which base it has
///         and this is another.
OpenedModel with_adapter(OpenedModel base, const std::filesystem::path& directory);

/// The model that an adapter's config names as its base.
///
/// Errors: invalid if that is not there, or is an adapter itself.
std::filesystem::path adapter_base(const std::filesystem::path& directory);

}  // namespace parhelion::model
