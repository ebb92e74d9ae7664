#pragma once

#include "base/file.h"
#include "train/config/data_settings.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parhelion::train {

/// Where a document comes from.
struct Origin {
  std::int64_t file = 0;  ///< its place in the list of files
  std::int64_t line = 0;  ///< from 1; 0 = the whole file
  bool operator==(const Origin&) const = default;
};

/// The bytes of a data file.
struct SourceText {
  std::string_view bytes;
  DataFormat format = DataFormat::text;  ///< never automatic
};

/// A data file, mapped.
struct SourceFile {
  MappedFile file;
  DataFormat format = DataFormat::text;  ///< never automatic

  SourceText text() const;
};

/// Maps files of a format, or of the one that each name tells.
///
/// Errors: as of MappedFile.
std::vector<SourceFile> open_sources(std::span<const std::filesystem::path> files,
                                     DataFormat format);

/// The bytes of one document as they lie in its file.
struct RawRow {
  Origin origin;
  DataFormat format = DataFormat::text;
  std::string_view bytes;
};

/// Gives the documents of files in order: a text file whole, of a JSONL file each line that is not
/// blank. A byte order mark at a file's start belongs to none.
class RowReader {
 public:
  /// The bytes must outlive the rows.
  explicit RowReader(std::vector<SourceText> sources) : sources_(std::move(sources)) {}

  std::optional<RawRow> next();

 private:
  RawRow next_line();

  std::vector<SourceText> sources_;
  std::int64_t file_ = -1;
  std::int64_t line_ = 0;
  std::string_view left_;  // of the open JSONL file
};

}  // namespace parhelion::train
