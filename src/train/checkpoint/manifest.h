#pragma once

#include "base/json.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::train {

/// The file that makes a directory a checkpoint: written last, it says what the others are.
inline constexpr std::string_view kManifestName = "manifest.json";

/// What a checkpoint says of its job beside tensors. JSON has no NaN and no infinities: they come
/// back as null.
struct CheckpointFacts {
  std::int64_t step = 0;         ///< updates made
  std::int64_t tokens_seen = 0;  ///< in all steps
  std::int64_t seed = 0;
  std::string job_digest = {};  ///< equal digests, equal jobs
  Json job = {};                ///< the effective job
  Json data_position = {};      ///< where the data stream goes on
  Json metrics = {};            ///< what running metrics have gathered
  bool operator==(const CheckpointFacts&) const = default;
};

/// One file of a checkpoint directory.
struct FileRecord {
  std::string name;  ///< without a directory
  std::int64_t bytes = 0;
  std::string xxh128;  ///< as `hex(hash128(contents))`
  bool operator==(const FileRecord&) const = default;
};

struct Manifest {
  CheckpointFacts facts = {};
  std::vector<FileRecord> files = {};  ///< all but the manifest itself
  bool operator==(const Manifest&) const = default;
};

/// The text of a manifest.json. It ends with a hash of all that it says.
std::string manifest_text(const Manifest& manifest);

/// Reads such a text; `where` names it in errors.
///
/// Errors: unsupported for another format or version; corrupt if a member is missing, unknown or of
///         another type, if a file's name has a directory or comes twice, or if the hash does not
///         fit what is said.
Manifest parse_manifest(std::string_view text, std::string_view where);

/// Whether `name` is a file name without a directory.
bool is_plain_file_name(std::string_view name);

}  // namespace parhelion::train
