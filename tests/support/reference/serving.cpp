#include "support/reference/families.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace parhelion::test {
namespace {

constexpr double kNoLogit = -std::numeric_limits<double>::infinity();

/// Whether `number` is in [first, count).
bool is_within(double number, std::int64_t first, std::int64_t count) {
  return number >= static_cast<double>(first) && number < static_cast<double>(count);
}

/// Whether the bit of an id is 1 in a row of a mask.
bool has_bit(const Wide& mask, std::int64_t row, std::int64_t id) {
  const auto word = static_cast<std::int64_t>(mask[row * mask.dim(1) + id / 32]);
  return (word >> (id % 32) & 1) != 0;
}

/// Edit `e` of a logit.
double edited(const WideInputs& in, std::int64_t e, double logit) {
  const double biased = logit + in[3][e];
  return (biased > 0 ? biased / in[4][e] : biased * in[4][e]) - in[5][e];
}

}  // namespace

WideOutputs reference(const ir::FeedTokens&, const WideInputs& in) {
  Wide y = in[0];
  for (std::int64_t t = 0; t < y.size(); ++t) {
    if (!is_within(in[1][t], 0, in[2].size())) continue;
    y[t] = std::max(in[2][static_cast<std::int64_t>(in[1][t])], 0.0);
  }
  return {y};
}

WideOutputs reference(const ir::KeepTokens&, const WideInputs& in) {
  Wide drawn = in[2];
  for (std::int64_t r = 0; r < in[0].size(); ++r) {
    if (is_within(in[1][r], 0, drawn.size())) drawn[static_cast<std::int64_t>(in[1][r])] = in[0][r];
  }
  return {drawn};
}

WideOutputs reference(const ir::CopyPages&, const WideInputs& in) {
  Wide pages = in[2];
  const std::int64_t count = pages.dim(0), size = pages.size() / count;
  for (std::int64_t lane = 0; lane < in[0].size(); ++lane) {
    if (!is_within(in[0][lane], 0, count) || !is_within(in[1][lane], 1, count)) continue;
    const auto from = static_cast<std::int64_t>(in[0][lane]);
    const auto to = static_cast<std::int64_t>(in[1][lane]);
    for (std::int64_t i = 0; i < size; ++i) pages[to * size + i] = in[2][from * size + i];
  }
  return {pages};
}

WideOutputs reference(const ir::EditLogits&, const WideInputs& in) {
  Wide y = in[0];
  const std::int64_t columns = y.dim(1);
  const auto edits = static_cast<double>(in[2].size());
  for (std::int64_t r = 0; r < y.dim(0); ++r) {
    const auto begin = static_cast<std::int64_t>(std::clamp(in[1][r], 0.0, edits));
    const auto end = static_cast<std::int64_t>(std::clamp(in[1][r + 1], 0.0, edits));
    for (std::int64_t e = begin; e < end; ++e) {
      if (!is_within(in[2][e], 0, columns)) continue;
      double& logit = y[r * columns + static_cast<std::int64_t>(in[2][e])];
      logit = edited(in, e, logit);
    }
    for (std::int64_t id = 0; id < columns; ++id) {
      if (!has_bit(in[6], r, id)) y[r * columns + id] = kNoLogit;
    }
  }
  return {y};
}

WideOutputs reference(const ir::TopLogProbabilities& op, const WideInputs& in) {
  const std::int64_t rows = in[0].dim(0), columns = in[0].dim(1);
  Wide ids = zeros(ir::TensorType(ir::Kind::i32, {rows, op.count}));
  Wide log_probability = zeros(ir::TensorType(ir::Kind::f32, {rows, op.count}));
  std::ranges::fill(ids.values, -1.0);
  std::ranges::fill(log_probability.values, kNoLogit);
  for (std::int64_t r = 0; r < rows; ++r) {
    const double total = wide_log_sum_exp(in[0], r * columns, columns);
    if (!std::isfinite(total)) continue;
    const auto logit = [&](std::int64_t id) { return in[0][r * columns + id]; };
    std::vector<std::int64_t> order(static_cast<std::size_t>(columns));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater(), logit);
    for (std::int64_t i = 0; i < std::min(op.count, columns); ++i) {
      const std::int64_t id = order[static_cast<std::size_t>(i)];
      ids[r * op.count + i] = static_cast<double>(id);
      log_probability[r * op.count + i] = logit(id) - total;
    }
  }
  return {ids, log_probability};
}

}  // namespace parhelion::test
