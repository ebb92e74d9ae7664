#pragma once

#include "train/config/data_settings.h"
#include "train/data/microbatch.h"

#include <cstdint>
#include <span>
#include <vector>

namespace parhelion::train {

/// The microbatches of an epoch, as pieces of documents.
class PackPlan {
 public:
  std::int64_t count() const { return std::ssize(microbatches_); }
  std::span<const Piece> microbatch(std::int64_t index) const {
    const Pieces& range = microbatches_[static_cast<std::size_t>(index)];
    return std::span(pieces_).subspan(range.begin, range.count);
  }
  /// Of all pieces together.
  std::int64_t tokens() const;

  /// Begins an empty microbatch.
  void open();
  /// Adds a piece to the microbatch that was opened last.
  void add(const Piece& piece);
  /// Visits microbatches in another order, of their numbers.
  void reorder(std::span<const std::int64_t> order);
  /// Puts documents[i] in the place of document i.
  void rename(std::span<const std::int64_t> documents);

 private:
  struct Pieces {
    std::size_t begin = 0;
    std::size_t count = 0;
  };
  std::vector<Piece> pieces_;
  std::vector<Pieces> microbatches_;
};

/// Packs documents of `lengths` tokens, a pure function of its arguments. A document's last token
/// predicts nothing, so pieces reach to the one before it, and a document of one token has none.
///
/// With Packing::concatenate pieces fill each microbatch up; a document is cut at its end and every
/// `sequence_tokens`. With Packing::fit pieces are whole documents, placed in the first microbatch
/// that has room, the longest first, among 1024 pieces at a time. With Packing::none a microbatch
/// has microbatch_tokens / sequence_tokens of them, in order. Of the last two, long documents are
/// split or truncated.
///
/// With `shuffle` documents are packed in a random order, and the microbatches visited in another.
PackPlan plan_packs(std::span<const std::int64_t> lengths, const DataSettings& settings,
                    std::uint64_t seed, std::int64_t epoch);

}  // namespace parhelion::train
