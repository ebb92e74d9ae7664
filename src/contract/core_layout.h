#pragma once

#include "contract/digest.h"
#include "contract/keys.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::contract {

using Bytes = std::span<const std::byte>;

/// Of the file around the sections; 0 is unstable.
inline constexpr std::uint32_t kContainerRevision = 0;

inline constexpr std::int64_t kHeaderBytes = 64;
inline constexpr std::int64_t kEntryBytes = 96;
inline constexpr std::int64_t kTrailerBytes = 64;
inline constexpr std::int64_t kSignatureSlots = 8;
inline constexpr std::int64_t kSlotBytes = 96;
inline constexpr std::int64_t kSignatureBytes = kSignatureSlots * kSlotBytes;

inline constexpr std::int64_t kPageBytes = 4096;  ///< what weights are aligned to
inline constexpr std::int64_t kPlainAlignment = 64;
inline constexpr std::int64_t kMostLeafBytes = std::int64_t{1} << 30;

/// What a section holds. A number is never used again.
enum class SectionKind : std::uint32_t {
  contract = 1,
  tokenizer = 2,
  chat_template = 3,
  asset = 4,
  weights = 5,
  leaves = 6,  ///< digests of the pieces of large sections
};
/// `section <number>` for one that this build does not know.
std::string section_name(std::uint32_t kind);

/// One row of the section table.
struct SectionEntry {
  std::uint32_t kind = 0;
  bool required = true;  ///< who does not know the kind refuses the file
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::int64_t alignment = kPlainAlignment;
  std::int64_t leaf_bytes = 0;  ///< 0: the digest is that of the bytes, else of the leaves
  Digest digest = {};
};

/// A place for a signature.
struct SignatureSlot {
  std::uint32_t algorithm = 0;  ///< 0 = empty, 1 = Ed25519
  KeyId key = {};
  SignatureBytes signature = {};
};
inline constexpr std::uint32_t kEd25519 = 1;

/// A file taken apart; sections follow each other, with zeros between them.
struct CoreLayout {
  std::vector<SectionEntry> sections = {};
  std::vector<SignatureSlot> signatures = {};  ///< those that are not empty
  std::string manifest = {};                   ///< what signatures sign
};

std::string header_bytes();
/// The table, and the trailer that says where it is.
std::string table_bytes(std::span<const SectionEntry> sections, std::int64_t table_offset);
std::string signature_bytes(std::span<const SignatureSlot> slots);
/// What is signed: a fixed text, then length and bytes of header, table and trailer.
std::string manifest_of(std::string_view header, std::string_view table);

std::int64_t aligned(std::int64_t offset, std::int64_t alignment);
std::int64_t leaf_count(const SectionEntry& section);

/// Takes a file apart and checks that each byte belongs to a part of it. Contents are not read.
///
/// Errors: corrupt or unsupported, named as docs/contract/core.md says.
CoreLayout read_layout(Bytes file);

}  // namespace parhelion::contract
