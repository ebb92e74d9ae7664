#pragma once

#include "train/data/documents.h"

#include <cstdint>
#include <span>
#include <vector>

namespace parhelion::train {

/// The capacities that a program is planned for to run a microbatch.
struct Bucket {
  std::int64_t tokens = 0;
  std::int64_t documents = 0;
  bool operator==(const Bucket&) const = default;
};

/// The bucket of a capacity in tokens. It holds as many documents as tokens, but at most 512: a
/// microbatch ends there, so only documents of fewer than tokens / 512 tokens leave it unfilled.
Bucket bucket_of(std::int64_t tokens);

/// Tokens [begin, begin + count) of a document, each of which predicts the token that follows it.
struct Piece {
  std::int64_t document = 0;
  std::int64_t begin = 0;
  std::int64_t count = 0;
  bool operator==(const Piece&) const = default;
};

/// The inputs of model::build_train. Pieces lie one after another, each a document to attention:
/// its positions begin at 0. Behind them are padded tokens of id 0, which belong to no document,
/// and documents of no token.
struct Microbatch {
  std::int64_t capacity_tokens = 0;
  std::int64_t capacity_documents = 0;
  std::vector<std::int32_t> token_ids;        ///< [capacity_tokens]
  std::vector<std::int32_t> positions;        ///< [capacity_tokens]
  std::vector<std::int32_t> labels;           ///< [capacity_tokens]; -100 = nothing is learnt
  std::vector<std::int32_t> document_indptr;  ///< [capacity_documents + 1]
  std::vector<float> loss_weight;             ///< [capacity_tokens]; 1 where there is a label, or 0
  double weight = 0;                          ///< the sum of loss_weight
  std::vector<std::int64_t> document_ids;     ///< the document of each piece
  bool operator==(const Microbatch&) const = default;
};

/// The microbatch of `pieces`, which fit `bucket`.
Microbatch make_microbatch(const Documents& documents, std::span<const Piece> pieces,
                           const Bucket& bucket);

/// The microbatch of one document that no data file has, such as a text to score: each of its `ids`
/// predicts the next.
///
/// Errors: invalid if it has fewer than two ids or more than the bucket holds.
Microbatch one_document(std::span<const std::int32_t> ids, const Bucket& bucket);

}  // namespace parhelion::train
