#pragma once

#include "base/file.h"
#include "contract/core.h"
#include "prepare/work_directory.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::prepare {

/// A file that grows at its end.
class GrowingFile {
 public:
  /// Opens a file, or makes it, cut to its first `bytes` bytes. Errors: as AtomicFile.
  GrowingFile(const std::filesystem::path& path, std::int64_t bytes);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  /// Errors: exhausted if the disk is full, else invalid.
  void append(std::span<const std::byte> bytes);

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// A weight of the store: what became of it, and where its bytes lie.
struct StoredWeight {
  contract::PrecisionEntry entry = {};  ///< under the weight's name
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::string hash = {};  ///< of the bytes
};

/// Converted weights in a work directory, in the order in which they were made: one file of bytes,
/// and a list with a line for each weight that is whole, with hashes of line and bytes. Weights
/// that an earlier preparation left are taken up to the first that is not as the list says.
class WeightStore {
 public:
  /// `key` names all that the weights are made from. Tells of damage.
  ///
  /// Errors: as GrowingFile.
  WeightStore(const std::filesystem::path& directory, std::string_view key, const Tell& tell);

  /// Weights that are whole.
  const std::vector<StoredWeight>& weights() const { return weights_; }
  std::int64_t taken_count() const { return taken_count_; }  ///< of an earlier preparation

  /// Appends to the weight that comes next, and ends it.
  void append(std::span<const std::byte> bytes);
  void end(contract::PrecisionEntry entry);

  /// The bytes of every weight, where the file is mapped; valid as long as the store.
  std::vector<contract::WeightView> views(const ir::Program& program);

 private:
  struct Kept {
    std::vector<StoredWeight> weights;
    std::int64_t list_bytes = 0;
  };
  static Kept read_kept(const std::filesystem::path& bytes, const std::filesystem::path& list,
                        const Tell& tell);
  WeightStore(const std::filesystem::path& bytes, const std::filesystem::path& list, Kept kept);

  std::filesystem::path path_;
  std::vector<StoredWeight> weights_;
  std::int64_t taken_count_;
  std::int64_t end_;  // of the weights that are whole
  GrowingFile bytes_;
  GrowingFile list_;
  std::int64_t open_bytes_ = 0;  // of the weight that comes next
  std::unique_ptr<MappedFile> mapped_;
};

}  // namespace parhelion::prepare
