#pragma once

#include "base/file.h"
#include "contract/contract.h"
#include "contract/core_layout.h"
#include "contract/encoding.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::contract {

/// How a core is written.
struct CoreOptions {
  std::vector<SecretKey> keys = {};   ///< who signs; empty: nobody
  std::int64_t leaf_bytes = 4 << 20;  ///< how much of the weights one digest covers
};

/// The libraries that cores are written with, by name and version.
std::vector<std::string> library_versions();

/// Writes a core file: weights as they come, then everything else. The file appears under its name
/// by `finish`, whole; without it nothing stays behind. Equal calls give equal bytes. Memory is
/// bounded by a leaf.
class CoreWriter {
 public:
  /// Errors: those of AtomicFile; invalid for leaves of a wrong size or more keys than a file has
  ///         places for.
  explicit CoreWriter(const std::filesystem::path& path, CoreOptions options = {});

  /// Begins a weight, whose bytes follow, row-major. The order of weights is that of the file.
  void weight(std::string_view name, const ir::TensorType& type);
  void append(std::span<const std::byte> bytes);

  /// Lets a weight be the bytes of one that was written before.
  ///
  /// Errors: invalid if there is none of that name and type.
  void share(std::string_view name, const ir::TensorType& type, std::string_view with);

  /// Writes the rest and makes the file visible. Call once.
  ///
  /// Errors: invalid if the contract is, or if the weights are not its parameters.
  void finish(const Contract& contract);

 private:
  void close_weight();
  void put(std::string_view bytes);
  void pad_to(std::int64_t alignment);
  void section(SectionKind kind, std::string_view bytes);

  AtomicFile file_;
  CoreOptions options_;
  LeafDigests leaves_;
  std::int64_t end_ = 0;            // of the file so far
  std::int64_t missing_bytes_ = 0;  // of the weight at hand
  std::vector<WeightPlace> weights_;
  std::vector<SectionEntry> sections_;
};

/// A parameter in memory.
struct WeightBytes {
  std::string name;
  ir::TensorType type;
  std::span<const std::byte> bytes;
};

/// Writes a core whose weights are in memory. Errors: as CoreWriter.
void write_core(const std::filesystem::path& path, const Contract& contract,
                std::span<const WeightBytes> weights, const CoreOptions& options = {});

}  // namespace parhelion::contract
