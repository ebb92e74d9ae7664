#pragma once

#include "ir/element.h"
#include "model/open.h"
#include "state/safetensors_writer.h"
#include "train/checkpoint/write_checkpoint.h"

#include <filesystem>
#include <vector>

namespace parhelion::app {

/// Writes a model as a Hugging Face directory, all of it or nothing: safetensors of `kind` under
/// Hugging Face's names, and `files` (those of config and tokenizer), where config.json says
/// `kind`. An adapter is merged into the weights. A shard holds at most `shard_bytes`.
///
/// Errors: invalid if `destination` is there and not an empty directory, or if the checkpoint does
///         not fit the model; unsupported for kinds that cannot be converted; exhausted if the disk
///         is full.
void export_hugging_face(const model::OpenedModel& opened, std::vector<train::ModelFile> files,
                         ir::Kind kind, const std::filesystem::path& destination,
                         std::int64_t shard_bytes = state::kDefaultShardBytes);

/// Writes a model's adapter alone in the layout of Hugging Face's PEFT, as `kind`, all of it or
/// nothing.
///
/// Errors: invalid if the model has none; as export_hugging_face.
void export_adapter(const model::OpenedModel& opened, ir::Kind kind,
                    const std::filesystem::path& destination);

}  // namespace parhelion::app
