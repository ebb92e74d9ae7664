#pragma once

#include "base/hash.h"
#include "train/data/report.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::train {

/// A file of tokenised documents, in the byte order of the machine:
///
///   8 bytes  "phtokens"
///   u64      kTokenFileVersion
///   i32      [tokens] ids of all documents, one after another; zeros up to a multiple of 8
///   u64      [documents + 1] where each document begins, and the end
///   u64      [documents] its line in its file; 0 = the whole file
///   bits     [tokens] which ids are learnt, lowest bit first; zeros up to a multiple of 8
///   text     JSON: key, files (documents of each), report
///   u64      bytes of that text
///   u64 x 2  XXH3 hash of all before, high and low: a chain over blocks of 1 MiB
///
/// The tokens are written as they come; what is known only at the end is at the end.
inline constexpr std::string_view kTokenFileMagic = "phtokens";
/// Goes up when the format changes, or the tokens of a text.
inline constexpr std::uint64_t kTokenFileVersion = 1;
inline constexpr std::size_t kTokenFileBlockBytes = std::size_t{1} << 20;

/// The hash of a chain that ended in `before`, and goes on with `block`.
Hash128 chain_hash(const Hash128& before, std::span<const std::byte> block);

/// A token file as it lies in memory.
struct TokenFileView {
  std::span<const std::int32_t> ids;
  std::span<const std::uint64_t> begins;
  std::span<const std::uint64_t> lines;
  std::span<const std::byte> learnt;
  std::string key;
  std::vector<std::int64_t> file_documents;
  DataReport report;
};

/// Reads where things lie, without trust in any number. `bytes` are aligned to 8 bytes.
///
/// Errors: corrupt, beginning with `where`, if the sizes do not add up or a document has fewer than
///         two tokens.
TokenFileView parse_token_file(std::span<const std::byte> bytes, std::string_view where);

/// Checks what parse_token_file leaves open.
///
/// Errors: corrupt, beginning with `where`, if the hash differs or an id is outside the vocabulary.
void check_token_file(std::span<const std::byte> bytes, const TokenFileView& view,
                      std::int64_t vocabulary, std::string_view where);

}  // namespace parhelion::train
