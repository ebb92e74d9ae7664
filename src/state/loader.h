#pragma once

#include "state/checkpoint.h"
#include "state/mapper.h"
#include "state/safetensors_writer.h"
#include "state/tensor.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::state {

/// Named tensors that are read one at a time.
struct TensorSource {
  std::string where;               ///< names the source in errors
  std::vector<std::string> names;  ///< in the order in which reading is cheap
  std::function<TensorView(const std::string& name)> read;
};

/// The checkpoint's tensors, which stay where they are mapped. Borrows `checkpoint`.
TensorSource source_of(const Checkpoint& checkpoint);

/// Tensors that nothing has to read, and why. In `pattern`, `*` stands for any text.
struct IgnoreRule {
  std::string pattern;
  std::string reason;
};

/// True if `name` as a whole is what `pattern` describes.
bool matches(std::string_view pattern, std::string_view name);

/// Takes one mapped tensor.
using TensorSink = std::function<void(TensorView tensor)>;

/// Maps every tensor of `source`, group by group in the order of its names, and gives the results
/// to `sink`. A tensor that is only renamed or reshaped arrives as a view of the source's bytes;
/// results are dropped once the sink has returned.
///
/// Errors: invalid before anything is read, with all offenders, if names that the mapper reads are
///         missing, or if tensors are neither read nor ignored; later as `apply_group`.
void load(const TensorSource& source, const Mapper& mapper, const std::vector<IgnoreRule>& ignored,
          const TensorSink& sink);

/// Maps every tensor of `source` that is not ignored into a new checkpoint, all of it or none.
/// Bytes that `read` gives without `storage` must stay as they are until this returns.
///
/// Errors: as `load` and `SafetensorsWriter`.
void save(const TensorSource& source, const Mapper& mapper, const std::vector<IgnoreRule>& ignored,
          const std::filesystem::path& directory, std::int64_t shard_bytes = kDefaultShardBytes);

}  // namespace parhelion::state
