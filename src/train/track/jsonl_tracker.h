#pragma once

#include "train/track/tracker.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace parhelion::train {

/// The line of a record, without its end:
/// `{"step":12,"time":1735689600.5,"loss":2.5,"norm":null,"nonfinite":["norm"]}`. Time is in
/// seconds since 1970. A value that is not finite is null, and its name is in `nonfinite`.
std::string jsonl_line(const StepRecord& record);

/// Keeps records in a file of lines as of jsonl_line.
///
/// Errors: as of AtomicFile and AppendFile, while opening.
std::unique_ptr<Tracker> open_jsonl_tracker(const std::filesystem::path& file,
                                            std::int64_t first_step);

}  // namespace parhelion::train
