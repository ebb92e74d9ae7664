#include "train/data/batch_stream.h"

#include "base/error.h"
#include "train/data/mixture.h"

#include <algorithm>
#include <utility>

namespace parhelion::train {
namespace {

std::int64_t count_of_position(const Json& json, std::string_view key, std::string_view where) {
  const Json* found = json.find(key);
  ensure(found != nullptr, ErrorKind::invalid, "{}: has no {}", where, key);
  const std::int64_t count = found->as_int64(where);
  ensure(count >= 0, ErrorKind::invalid, "{}: {} is {}, expected at least 0", where, key, count);
  return count;
}

std::int64_t tokens_of_pieces(std::span<const Piece> pieces) {
  std::int64_t tokens = 0;
  for (const Piece& piece : pieces) tokens += piece.count;
  return tokens;
}

Bucket smallest_bucket(const DataSettings& settings, std::int64_t tokens) {
  for (const std::int64_t bucket : settings.buckets) {
    if (bucket >= tokens) return bucket_of(bucket);
  }
  return bucket_of(settings.microbatch_tokens);
}

}  // namespace

Json as_json(const DataPosition& position) {
  return Json::Object{{"epoch", position.epoch}, {"microbatch", position.microbatch}};
}

DataPosition read_data_position(const Json& json, std::string_view where) {
  return {.epoch = count_of_position(json, "epoch", where),
          .microbatch = count_of_position(json, "microbatch", where)};
}

std::vector<Bucket> buckets_of(const DataSettings& settings) {
  std::vector<Bucket> buckets;
  for (const std::int64_t tokens : settings.buckets) buckets.push_back(bucket_of(tokens));
  return buckets;
}

void check_lengths(const Documents& documents, const DataSettings& settings) {
  const bool is_checked =
      settings.packing != Packing::concatenate && settings.long_documents == LongDocuments::error;
  for (std::int64_t i = 0; is_checked && i < documents.count(); ++i) {
    ensure(documents.length(i) - 1 <= settings.sequence_tokens, ErrorKind::invalid,
           "{}: has {} tokens, expected at most {}: sequence_tokens and the one that is predicted "
           "last; long_documents may split or truncate it",
           documents.where(i), documents.length(i), settings.sequence_tokens + 1);
  }
}

BatchStream::BatchStream(std::shared_ptr<const Documents> documents, const DataSettings& settings,
                         std::uint64_t seed)
    : documents_(std::move(documents)), settings_(settings), seed_(seed) {
  check_lengths(*documents_, settings_);
  for (std::int64_t i = 0; i < documents_->count(); ++i) {
    lengths_.push_back(documents_->length(i));
  }
  ensure(!lengths_.empty(), ErrorKind::invalid, "data: there is no document");
  plan_ = plan_epoch(0);
}

std::optional<Pack> BatchStream::next() {
  Pack pack;
  while (std::ssize(pack.microbatches) < settings_.microbatches && !is_at_end()) {
    pack.microbatches.push_back(next_microbatch());
  }
  if (pack.microbatches.empty()) return std::nullopt;
  pack.after = position_;
  return pack;
}

void BatchStream::seek(const DataPosition& position) {
  const bool is_end = settings_.epochs > 0 && position == DataPosition{settings_.epochs, 0};
  ensure(is_end || settings_.epochs == 0 || position.epoch < settings_.epochs, ErrorKind::invalid,
         "data position: epoch {} is behind the end, the job has {} epochs", position.epoch,
         settings_.epochs);
  PackPlan plan = is_end ? PackPlan() : plan_epoch(position.epoch);
  ensure(is_end || position.microbatch < plan.count(), ErrorKind::invalid,
         "data position: microbatch {} is behind the end of epoch {}, which has {}; the position "
         "is of other documents or settings",
         position.microbatch, position.epoch, plan.count());
  plan_ = std::move(plan);
  position_ = position;
}

std::optional<std::int64_t> BatchStream::total_steps() const {
  if (settings_.epochs == 0) return std::nullopt;
  std::int64_t microbatches = 0;
  for (std::int64_t epoch = 0; epoch < settings_.epochs; ++epoch) {
    microbatches += plan_epoch(epoch).count();
  }
  return (microbatches + settings_.microbatches - 1) / settings_.microbatches;
}

PackPlan BatchStream::plan_epoch(std::int64_t epoch) const {
  if (!settings_.weights) return plan_packs(lengths_, settings_, seed_, epoch);
  const std::vector<std::int64_t> visited = mixed_documents(
      documents_->file_documents(), *settings_.weights, settings_.shuffle, seed_, epoch);
  ensure(!visited.empty(), ErrorKind::invalid,
         "data: epoch {} has no document, expected greater data.weights", epoch);
  std::vector<std::int64_t> lengths;
  lengths.reserve(visited.size());
  for (const std::int64_t document : visited) lengths.push_back(documents_->length(document));
  PackPlan plan = plan_packs(lengths, settings_, seed_, epoch);
  plan.rename(visited);
  return plan;
}

Microbatch BatchStream::next_microbatch() {
  const auto pieces = plan_.microbatch(position_.microbatch);
  Microbatch batch =
      make_microbatch(*documents_, pieces, smallest_bucket(settings_, tokens_of_pieces(pieces)));
  if (++position_.microbatch < plan_.count()) return batch;
  position_ = {position_.epoch + 1, 0};
  if (!is_at_end()) plan_ = plan_epoch(position_.epoch);
  return batch;
}

}  // namespace parhelion::train
