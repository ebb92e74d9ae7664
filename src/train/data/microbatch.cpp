#include "train/data/microbatch.h"

#include "base/error.h"

#include <algorithm>
#include <numeric>

namespace parhelion::train {
namespace {

constexpr std::int64_t kMostDocuments = 512;
constexpr std::int32_t kNoLabel = -100;

/// A microbatch of padding alone.
Microbatch padded_microbatch(const Bucket& bucket) {
  const auto tokens = static_cast<std::size_t>(bucket.tokens);
  Microbatch batch;
  batch.capacity_tokens = bucket.tokens;
  batch.capacity_documents = bucket.documents;
  batch.token_ids.assign(tokens, 0);
  batch.positions.assign(tokens, 0);
  batch.labels.assign(tokens, kNoLabel);
  batch.loss_weight.assign(tokens, 0.0f);
  batch.document_indptr.assign(static_cast<std::size_t>(bucket.documents) + 1, 0);
  return batch;
}

/// Writes a piece from token `at` on.
void write_piece(const Documents& documents, const Piece& piece, std::ptrdiff_t at,
                 Microbatch& batch) {
  const auto ids = documents.ids(piece.document);
  const auto from = ids.begin() + piece.begin;
  std::copy_n(from, piece.count, batch.token_ids.begin() + at);
  const auto positions = batch.positions.begin() + at;
  std::iota(positions, positions + piece.count, 0);
  for (std::int64_t i = 0; i < piece.count; ++i) {
    if (!documents.learns(piece.document, piece.begin + i + 1)) continue;
    const auto token = static_cast<std::size_t>(at + i);
    batch.labels[token] = from[i + 1];
    batch.loss_weight[token] = 1.0f;
    batch.weight += 1.0;
  }
}

}  // namespace

Bucket bucket_of(std::int64_t tokens) {
  return {.tokens = tokens, .documents = std::min(tokens, kMostDocuments)};
}

Microbatch make_microbatch(const Documents& documents, std::span<const Piece> pieces,
                           const Bucket& bucket) {
  ensure(std::ssize(pieces) <= bucket.documents, ErrorKind::bug,
         "microbatch: {} pieces for a bucket of {} documents", pieces.size(), bucket.documents);
  Microbatch batch = padded_microbatch(bucket);
  std::int64_t end = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::int64_t begin = end;
    end += pieces[i].count;
    ensure(end <= bucket.tokens, ErrorKind::bug,
           "microbatch: pieces of {} tokens for a bucket of {} tokens", end, bucket.tokens);
    write_piece(documents, pieces[i], begin, batch);
    batch.document_ids.push_back(pieces[i].document);
    batch.document_indptr[i + 1] = static_cast<std::int32_t>(end);
  }
  std::fill(batch.document_indptr.begin() + std::ssize(pieces) + 1, batch.document_indptr.end(),
            static_cast<std::int32_t>(end));
  return batch;
}

Microbatch one_document(std::span<const std::int32_t> ids, const Bucket& bucket) {
  const std::int64_t length = std::ssize(ids);
  ensure(length >= 2 && length <= bucket.tokens, ErrorKind::invalid,
         "document: has {} tokens, expected 2 to {}", length, bucket.tokens);
  Microbatch batch = padded_microbatch(bucket);
  std::ranges::copy(ids, batch.token_ids.begin());
  std::iota(batch.positions.begin(), batch.positions.begin() + length, 0);
  std::copy(ids.begin() + 1, ids.end(), batch.labels.begin());
  std::fill_n(batch.loss_weight.begin(), length - 1, 1.0f);
  batch.weight = static_cast<double>(length - 1);
  std::fill(batch.document_indptr.begin() + 1, batch.document_indptr.end(),
            static_cast<std::int32_t>(length));
  return batch;
}

}  // namespace parhelion::train
