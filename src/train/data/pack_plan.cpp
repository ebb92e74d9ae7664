#include "train/data/pack_plan.h"

#include "base/error.h"
#include "train/data/shuffle.h"

#include <algorithm>
#include <numeric>

namespace parhelion::train {
namespace {

constexpr std::size_t kFitWindow = 1024;

/// What a microbatch may still take.
struct PackRoom {
  std::int64_t tokens = 0;
  std::int64_t documents = 0;

  bool holds(std::int64_t count) const { return documents > 0 && tokens >= count; }
  void take(std::int64_t count) {
    tokens -= count;
    --documents;
  }
};

PackRoom room_of(const DataSettings& settings) {
  const Bucket bucket = bucket_of(settings.microbatch_tokens);
  return {.tokens = bucket.tokens, .documents = bucket.documents};
}

std::int64_t predicting_tokens(std::span<const std::int64_t> lengths, std::int64_t document) {
  return lengths[static_cast<std::size_t>(document)] - 1;
}

void pack_concatenated(std::span<const std::int64_t> lengths, const DataSettings& settings,
                       std::span<const std::int64_t> order, PackPlan& plan) {
  PackRoom room;
  for (const std::int64_t document : order) {
    const std::int64_t end = predicting_tokens(lengths, document);
    for (std::int64_t begin = 0; begin < end;) {
      if (!room.holds(1)) {
        plan.open();
        room = room_of(settings);
      }
      const std::int64_t count = std::min({end - begin, settings.sequence_tokens, room.tokens});
      plan.add({document, begin, count});
      room.take(count);
      begin += count;
    }
  }
}

/// Pieces of at most `sequence_tokens`, in order.
std::vector<Piece> whole_pieces(std::span<const std::int64_t> lengths, const DataSettings& settings,
                                std::span<const std::int64_t> order) {
  std::vector<Piece> pieces;
  for (const std::int64_t document : order) {
    std::int64_t end = predicting_tokens(lengths, document);
    if (settings.long_documents == LongDocuments::truncate) {
      end = std::min(end, settings.sequence_tokens);
    }
    for (std::int64_t begin = 0; begin < end; begin += settings.sequence_tokens) {
      pieces.push_back({document, begin, std::min(end - begin, settings.sequence_tokens)});
    }
  }
  return pieces;
}

/// The first room for a piece; perhaps a new one.
std::size_t find_room(std::vector<PackRoom>& rooms, std::int64_t count,
                      const DataSettings& settings) {
  const auto found = std::find_if(rooms.begin(), rooms.end(),
                                  [count](const PackRoom& room) { return room.holds(count); });
  if (found != rooms.end()) return static_cast<std::size_t>(found - rooms.begin());
  rooms.push_back(room_of(settings));
  return rooms.size() - 1;
}

/// First fit, the longest first.
void pack_window(std::vector<Piece> window, const DataSettings& settings, PackPlan& plan) {
  std::stable_sort(window.begin(), window.end(),
                   [](const Piece& a, const Piece& b) { return a.count > b.count; });
  std::vector<PackRoom> rooms;
  std::vector<std::vector<Piece>> contents;
  for (const Piece& piece : window) {
    const std::size_t room = find_room(rooms, piece.count, settings);
    rooms[room].take(piece.count);
    contents.resize(rooms.size());
    contents[room].push_back(piece);
  }
  for (const auto& pieces : contents) {
    plan.open();
    for (const Piece& piece : pieces) plan.add(piece);
  }
}

void pack_fitting(const std::vector<Piece>& pieces, const DataSettings& settings, PackPlan& plan) {
  for (auto begin = pieces.begin(); begin != pieces.end();) {
    const auto count = std::min<std::ptrdiff_t>(kFitWindow, pieces.end() - begin);
    pack_window({begin, begin + count}, settings, plan);
    begin += count;
  }
}

void pack_in_rows(const std::vector<Piece>& pieces, const DataSettings& settings, PackPlan& plan) {
  const auto rows =
      static_cast<std::size_t>(std::min(settings.microbatch_tokens / settings.sequence_tokens,
                                        bucket_of(settings.microbatch_tokens).documents));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i % rows == 0) plan.open();
    plan.add(pieces[i]);
  }
}

}  // namespace

std::int64_t PackPlan::tokens() const {
  return std::accumulate(pieces_.begin(), pieces_.end(), std::int64_t{0},
                         [](std::int64_t sum, const Piece& piece) { return sum + piece.count; });
}

void PackPlan::open() { microbatches_.push_back({pieces_.size(), 0}); }

void PackPlan::add(const Piece& piece) {
  pieces_.push_back(piece);
  ++microbatches_.back().count;
}

void PackPlan::reorder(std::span<const std::int64_t> order) {
  ensure(std::ssize(order) == count(), ErrorKind::bug, "pack plan: an order of {} for {}",
         order.size(), count());
  std::vector<Pieces> ordered;
  for (const std::int64_t index : order) {
    ordered.push_back(microbatches_[static_cast<std::size_t>(index)]);
  }
  microbatches_ = std::move(ordered);
}

void PackPlan::rename(std::span<const std::int64_t> documents) {
  for (Piece& piece : pieces_) piece.document = documents[static_cast<std::size_t>(piece.document)];
}

PackPlan plan_packs(std::span<const std::int64_t> lengths, const DataSettings& settings,
                    std::uint64_t seed, std::int64_t epoch) {
  const auto order_of = [&](std::int64_t count, Shuffled what) {
    return settings.shuffle ? shuffled_order(count, seed, epoch, what) : given_order(count);
  };
  const auto order = order_of(std::ssize(lengths), Shuffled::documents);
  PackPlan plan;
  switch (settings.packing) {
    case Packing::concatenate:
      pack_concatenated(lengths, settings, order, plan);
      break;
    case Packing::fit:
      pack_fitting(whole_pieces(lengths, settings, order), settings, plan);
      break;
    case Packing::none:
      pack_in_rows(whole_pieces(lengths, settings, order), settings, plan);
      break;
  }
  if (settings.shuffle) plan.reorder(order_of(plan.count(), Shuffled::microbatches));
  return plan;
}

}  // namespace parhelion::train
