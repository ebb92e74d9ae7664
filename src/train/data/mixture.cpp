#include "train/data/mixture.h"

#include "train/data/shuffle.h"

#include <cmath>

namespace parhelion::train {
namespace {

/// Passes over one file's documents, one after another.
class FilePasses {
 public:
  FilePasses(std::int64_t count, bool shuffles, std::uint64_t seed)
      : count_(count), shuffles_(shuffles), seed_(seed) {}

  /// The document that visit `index` of all epochs is to.
  std::int64_t visit(std::int64_t index) {
    if (index / count_ != pass_) {
      pass_ = index / count_;
      order_ = shuffles_ ? shuffled_order(count_, seed_, pass_, Shuffled::documents)
                         : given_order(count_);
    }
    return order_[static_cast<std::size_t>(index % count_)];
  }

 private:
  std::int64_t count_;
  bool shuffles_;
  std::uint64_t seed_;
  std::int64_t pass_ = -1;
  std::vector<std::int64_t> order_;
};

/// Visits to a file's documents before an epoch.
std::int64_t visits_before(std::int64_t epoch, double weight, std::int64_t count) {
  return static_cast<std::int64_t>(
      std::floor(weight * static_cast<double>(count) * static_cast<double>(epoch)));
}

}  // namespace

std::vector<std::int64_t> mixed_documents(std::span<const std::int64_t> file_documents,
                                          std::span<const double> weights, bool shuffles,
                                          std::uint64_t seed, std::int64_t epoch) {
  std::vector<std::int64_t> result;
  std::int64_t first = 0;
  for (std::size_t file = 0; file < file_documents.size(); ++file) {
    const std::int64_t count = file_documents[file];
    FilePasses passes(count, shuffles, seed);
    const std::int64_t end = visits_before(epoch + 1, weights[file], count);
    for (std::int64_t at = visits_before(epoch, weights[file], count); at < end; ++at)
      result.push_back(first + passes.visit(at));
    first += count;
  }
  return result;
}

}  // namespace parhelion::train
