#pragma once

#include "base/json.h"
#include "train/data/source.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace parhelion::train {

/// A row that became no document.
struct SkippedRow {
  Origin origin;
  std::string reason;
  bool operator==(const SkippedRow&) const = default;
};

/// What reading data files gave.
struct DataReport {
  std::int64_t documents = 0;
  std::int64_t tokens = 0;
  std::int64_t learnt_tokens = 0;     ///< those which some token before them predicts
  std::int64_t broken = 0;            ///< rows skipped since they could not be read
  std::int64_t nothing_to_learn = 0;  ///< rows skipped since none of their tokens is learnt
  std::vector<SkippedRow> skipped;    ///< the first ten
  bool operator==(const DataReport&) const = default;
};

/// Adds a skipped row to the first ten.
void note_skipped(DataReport& report, SkippedRow row);

/// A place for people, such as `chats.jsonl:17`, or a text file's name.
std::string describe(const Origin& origin, std::span<const std::filesystem::path> files);

/// One line of figures, and one for each row in `skipped`.
std::string describe(const DataReport& report, std::span<const std::filesystem::path> files);

Json as_json(const DataReport& report);

/// Errors: invalid if it is not as as_json writes it.
DataReport read_data_report(const Json& json);

}  // namespace parhelion::train
