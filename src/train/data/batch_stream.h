#pragma once

#include "base/json.h"
#include "train/data/pack_plan.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace parhelion::train {

/// The microbatch that comes next.
struct DataPosition {
  std::int64_t epoch = 0;
  std::int64_t microbatch = 0;  ///< in the epoch
  bool operator==(const DataPosition&) const = default;
};
Json as_json(const DataPosition& position);
/// Errors: invalid, beginning with `where`, if it is not as as_json writes it.
DataPosition read_data_position(const Json& json, std::string_view where);

/// The microbatches of one step.
struct Pack {
  std::vector<Microbatch> microbatches;
  DataPosition after;  ///< where the next pack begins
};

/// The microbatches that documents give, one epoch after another, in packs of one step each; a
/// pack may end in the next epoch. What it gives is a function of documents, settings, seed and
/// position alone.
///
/// Threads: one at a time.
class BatchStream {
 public:
  /// Errors: invalid as of check_lengths, or if there are no documents, also where weights leave an
  ///         epoch none.
  BatchStream(std::shared_ptr<const Documents> documents, const DataSettings& settings,
              std::uint64_t seed);

  /// The next pack. The last one may be short; after it there is none.
  std::optional<Pack> next();

  const DataPosition& position() const { return position_; }
  /// Goes to a position that `position` or a pack gave.
  ///
  /// Errors: invalid if there is no such position; then the stream is as it was.
  void seek(const DataPosition& position);

  /// Packs of all epochs, from the beginning; absent if epochs go on without end. Plans each
  /// epoch, so keep the answer.
  std::optional<std::int64_t> total_steps() const;

 private:
  PackPlan plan_epoch(std::int64_t epoch) const;
  bool is_at_end() const { return settings_.epochs > 0 && position_.epoch >= settings_.epochs; }
  Microbatch next_microbatch();

  std::shared_ptr<const Documents> documents_;
  DataSettings settings_;
  std::uint64_t seed_ = 0;
  std::vector<std::int64_t> lengths_;
  DataPosition position_;
  PackPlan plan_;  // of the position's epoch; the last one at the end
};

/// The buckets that the microbatches of a job run at, ascending.
std::vector<Bucket> buckets_of(const DataSettings& settings);

/// Errors: invalid, naming the document, if one is longer than `sequence_tokens` where this is an
///         error.
void check_lengths(const Documents& documents, const DataSettings& settings);

}  // namespace parhelion::train
