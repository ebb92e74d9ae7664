#pragma once

#include "base/file.h"
#include "train/data/token_file.h"
#include "train/data/tokenise.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace parhelion::train {

/// Writes a token file. Without `finish` there is none.
class TokenWriter {
 public:
  /// Errors: as of AtomicFile; the same for the other calls.
  TokenWriter(const std::filesystem::path& path, std::string key, std::int64_t files);

  /// Takes a document of at least two tokens; files ascending.
  void add(const Origin& origin, const TokenisedRow& row);

  /// Writes what is left, and `report` with its documents and tokens, and makes the file visible.
  void finish(const DataReport& report);

 private:
  void put(std::span<const std::byte> bytes);
  void put_zeros();
  void write_block(std::span<const std::byte> block);
  void mark_learnt(const TokenisedRow& row);

  AtomicFile file_;
  std::string key_;
  std::vector<std::byte> waiting_;  // less than a block
  Hash128 hash_;
  std::size_t bytes_ = 0;
  std::vector<std::uint64_t> begins_ = {0};
  std::vector<std::uint64_t> lines_;
  std::vector<std::byte> learnt_;
  std::vector<std::int64_t> file_documents_;
};

}  // namespace parhelion::train
