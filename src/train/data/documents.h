#pragma once

#include "base/file.h"
#include "train/data/token_file.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace parhelion::train {

/// Tokenised documents in a mapped file.
///
/// Threads: any number may read.
class Documents {
 public:
  /// Maps a token file and reads it once, to check it. `files` are the names of the data files it
  /// was made from.
  ///
  /// Errors: corrupt as of parse_token_file and check_token_file, or if it has another key or
  /// number
  ///         of files.
  Documents(const std::filesystem::path& path, const std::string& key, std::int64_t vocabulary,
            std::vector<std::filesystem::path> files);

  std::int64_t count() const { return std::ssize(view_.lines); }
  /// At least 2.
  std::int64_t length(std::int64_t document) const {
    return static_cast<std::int64_t>(begin(document + 1) - begin(document));
  }
  std::span<const std::int32_t> ids(std::int64_t document) const {
    return view_.ids.subspan(begin(document), begin(document + 1) - begin(document));
  }
  /// Whether the model learns to predict this token of a document.
  bool learns(std::int64_t document, std::int64_t token) const {
    const std::uint64_t at = begin(document) + static_cast<std::uint64_t>(token);
    return (view_.learnt[at / 8] >> (at % 8) & std::byte{1}) != std::byte{0};
  }
  /// How many of them are from each file; those of one file are in a row.
  std::span<const std::int64_t> file_documents() const { return view_.file_documents; }
  /// Where a document comes from, such as `chats.jsonl:17`.
  std::string where(std::int64_t document) const;

  const DataReport& report() const { return view_.report; }
  const std::vector<std::filesystem::path>& files() const { return files_; }
  /// Tells these documents from all others: a hash of all that they are made from.
  const std::string& key() const { return view_.key; }

 private:
  std::uint64_t begin(std::int64_t document) const {
    return view_.begins[static_cast<std::size_t>(document)];
  }

  MappedFile file_;
  TokenFileView view_;
  std::vector<std::filesystem::path> files_;
};

}  // namespace parhelion::train
