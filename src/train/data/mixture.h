#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace parhelion::train {

/// Which documents an epoch visits, in the order of the files and a document as often as it is
/// visited, where file i has `file_documents[i]` of them and an epoch is `weights[i]` passes over
/// these. A pass that ends in the middle goes on in the next epoch, so that documents of one file
/// are never more than one visit apart. With `shuffles` each pass has an order of its own.
std::vector<std::int64_t> mixed_documents(std::span<const std::int64_t> file_documents,
                                          std::span<const double> weights, bool shuffles,
                                          std::uint64_t seed, std::int64_t epoch);

}  // namespace parhelion::train
