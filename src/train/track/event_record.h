#pragma once

#include "train/track/tracker.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace parhelion::train {

/// Records of TensorBoard event files: a protobuf `Event` in the framing of TFRecord. `time` is
/// when the event happened.
///
/// Source: tensorflow/core/util/event.proto, framework/summary.proto; lib/io/record_writer.h.
using EventTime = std::chrono::system_clock::time_point;

/// The first record of each file.
std::string version_record(EventTime time);

/// Makes readers forget what earlier files have of `step` and later.
std::string session_start_record(EventTime time, std::int64_t step);

/// A text in Markdown.
std::string text_record(EventTime time, std::string_view tag, std::string_view text);

/// The numbers of a step that are finite, as f32, or nothing if none is.
std::string scalars_record(const StepRecord& record);

}  // namespace parhelion::train
