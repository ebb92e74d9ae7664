#include "base/random.h"
#include "support/reference/families.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace parhelion::test {
namespace {

constexpr std::uint64_t kSampleTag = 0x73616d706c65;  // "sample"

/// One row's settings.
struct SampleRow {
  double temperature, top_k, top_p, min_p;
  double draw;  ///< in [0, 1)
};

double mass_of(const std::vector<double>& weight, const std::vector<std::int64_t>& ids) {
  double mass = 0;
  for (const std::int64_t id : ids) mass += weight[static_cast<std::size_t>(id)];
  return mass;
}

/// The candidates that min-p, top-k and top-p leave, by descending weight, then ascending id.
std::vector<std::int64_t> kept_ids(const SampleRow& row, const std::vector<double>& weight) {
  const auto at = [&](std::int64_t id) { return weight[static_cast<std::size_t>(id)]; };
  std::vector<std::int64_t> ids(weight.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::erase_if(ids, [&](std::int64_t id) { return at(id) < row.min_p; });
  std::ranges::stable_sort(ids, [&](std::int64_t a, std::int64_t b) { return at(a) > at(b); });
  if (row.top_k > 0 && row.top_k < static_cast<double>(ids.size())) {
    ids.resize(static_cast<std::size_t>(row.top_k));
  }
  if (row.top_p >= 1) return ids;
  const double enough = row.top_p * mass_of(weight, ids);
  double mass = 0;
  std::size_t count = 0;
  while (count < ids.size() && (count == 0 || mass < enough)) mass += at(ids[count++]);
  ids.resize(count);
  return ids;
}

/// The first of the kept ids, ascending, whose running mass passes the draw.
std::int64_t drawn_id(const SampleRow& row, const std::vector<double>& logits, double max) {
  std::vector<double> weight;
  weight.reserve(logits.size());
  for (const double logit : logits) weight.push_back(std::exp((logit - max) / row.temperature));
  std::vector<std::int64_t> ids = kept_ids(row, weight);
  std::ranges::sort(ids);
  const double target = row.draw * mass_of(weight, ids);
  double mass = 0;
  for (const std::int64_t id : ids) {
    mass += weight[static_cast<std::size_t>(id)];
    if (mass > target) return id;
  }
  return ids.back();
}

}  // namespace

WideOutputs reference(const ir::LogProbability&, const WideInputs& in) {
  const std::int64_t columns = in[0].dim(1);
  Wide y = zeros(ir::TensorType(ir::Kind::f32, {in[0].dim(0)}));
  for (std::int64_t r = 0; r < y.size(); ++r) {
    if (in[1][r] < 0) continue;
    y[r] = in[0][r * columns + static_cast<std::int64_t>(in[1][r])] -
           wide_log_sum_exp(in[0], r * columns, columns);
  }
  return {y};
}

WideOutputs reference(const ir::Sample&, const WideInputs& in) {
  const std::int64_t rows = in[0].dim(0), columns = in[0].dim(1);
  Wide ids = zeros(ir::TensorType(ir::Kind::i32, {rows}));
  Wide log_probability = zeros(ir::TensorType(ir::Kind::f32, {rows}));
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto first = in[0].values.begin() + r * columns;
    const std::vector<double> logits(first, first + columns);
    const auto max = std::ranges::max_element(logits);
    ids[r] = -1;
    log_probability[r] = -std::numeric_limits<double>::infinity();
    if (!std::isfinite(*max)) continue;
    const SampleRow row{
        in[1][r], in[2][r], in[3][r], in[4][r],
        static_cast<double>(uniform(static_cast<std::uint64_t>(in[5][r]), kSampleTag,
                                    static_cast<std::uint64_t>(in[6][r])))};
    const std::int64_t id =
        row.temperature > 0 ? drawn_id(row, logits, *max) : max - logits.begin();
    ids[r] = static_cast<double>(id);
    log_probability[r] =
        logits[static_cast<std::size_t>(id)] - wide_log_sum_exp(in[0], r * columns, columns);
  }
  return {ids, log_probability};
}

}  // namespace parhelion::test
