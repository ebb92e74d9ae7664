#pragma once

#include "base/file.h"
#include "contract/contract.h"
#include "contract/keys.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::contract {

/// A parameter of a core, row-major, where the file is mapped.
struct WeightView {
  std::string name;
  ir::TensorType type;
  std::span<const std::byte> bytes;
};

/// A part of a core file.
struct SectionView {
  std::string name;
  std::int64_t offset = 0;
  std::span<const std::byte> bytes;
};

/// Whether somebody whom we trust stands behind a core.
enum class Signed : std::uint8_t {
  by_trusted_key,
  by_other_key,  ///< which cannot be checked
  by_nobody,
};
std::string_view name(Signed state);

/// A core file, read and checked. Views are those of the file.
struct Core {
  Contract contract;
  std::vector<WeightView> weights;  ///< in the order of the program's parameters
  std::vector<SectionView> sections;
  std::string digest;  ///< in hexadecimal digits: names the content, signatures apart
  Signed signature = Signed::by_nobody;
  std::string signer;                      ///< label of the trusted key
  std::uint32_t revision = 0;              ///< of the schema that the writer knew
  std::shared_ptr<const MappedFile> file;  ///< none if it was read from memory
};

/// Whether a file begins as a core does, or has a name that ends with `.core`.
bool is_core(const std::filesystem::path& path);

/// Reads a core file. Nothing in it is believed: structure, signature, digests of all bytes,
/// program, instances, memory plans and weights are checked in that order. The file must not change
/// while the core lives.
///
/// Errors: corrupt, unsupported or invalid, as docs/contract/core.md lists them.
Core read_core(const std::filesystem::path& path, const Trust& trust);

/// The same for bytes in memory, which must outlive the core; `where` names them in errors.
Core read_core(std::span<const std::byte> file, std::string_view where, const Trust& trust);

/// Adds a signature to a core file that is whole, or renews the one of that key. The other bytes
/// stay as they are.
///
/// Errors: as read_core; invalid if the file has no place left.
void sign_core(const std::filesystem::path& path, const SecretKey& secret);

/// What became of a weight, in a line without an end.
std::string describe(const PrecisionEntry& entry);

/// What a core has, as text for people.
std::string describe(const Core& core);

}  // namespace parhelion::contract
