#include "support/reference/families.h"

#include <algorithm>
#include <cmath>

namespace parhelion::test {
namespace {

/// Rows of q, k, v, o and the like: [tokens, heads, d].
double head_dot(const Wide& a, std::int64_t a_row, const Wide& b, std::int64_t b_row) {
  const std::int64_t d = a.type.shape.back().base;
  double sum = 0;
  for (std::int64_t c = 0; c < d; ++c) sum += a[a_row * d + c] * b[b_row * d + c];
  return sum;
}

void add_scaled(Wide& to, std::int64_t to_row, double factor, const Wide& from,
                std::int64_t from_row) {
  const std::int64_t d = to.type.shape.back().base;
  for (std::int64_t c = 0; c < d; ++c) to[to_row * d + c] += factor * from[from_row * d + c];
}

/// One query: which rows of k and v it sees.
struct SeenKeys {
  std::vector<std::int64_t> rows;
};

/// Adds softmax(scale q k) v of one query to its row of o and gives the log of the sum of
/// exponentials.
double attend(const Wide& q, std::int64_t q_row, const Wide& k, const Wide& v, const SeenKeys& seen,
              double scale, Wide& o) {
  std::vector<double> scores;
  for (const std::int64_t row : seen.rows) scores.push_back(scale * head_dot(q, q_row, k, row));
  const double max = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - max);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    add_scaled(o, q_row, std::exp(scores[i] - max) / sum, v, seen.rows[i]);
  }
  return max + std::log(sum);
}

std::int64_t first_seen(std::int64_t position, std::int64_t window) {
  return window > 0 ? std::max<std::int64_t>(position + 1 - window, 0) : 0;
}

/// Calls f(query row, rows of k that it sees) for every token of a document and every query head.
template <class F>
void for_each_query(const Wide& q, const Wide& k, const Wide& indptr, std::int64_t window,
                    const F& f) {
  const std::int64_t heads = q.dim(1), kv_heads = k.dim(1);
  for (std::int64_t document = 0; document + 1 < indptr.size(); ++document) {
    const auto begin = static_cast<std::int64_t>(indptr[document]);
    const auto end = static_cast<std::int64_t>(indptr[document + 1]);
    for (std::int64_t i = 0; i < (end - begin) * heads; ++i) {
      const std::int64_t position = i / heads, head = i % heads;
      SeenKeys seen;
      for (std::int64_t j = first_seen(position, window); j <= position; ++j) {
        seen.rows.push_back((begin + j) * kv_heads + head / (heads / kv_heads));
      }
      f((begin + position) * heads + head, seen);
    }
  }
}

}  // namespace

WideOutputs reference(const ir::Attention& op, const WideInputs& in) {
  Wide o = zeros(in[0].type);  // padding keeps zeros
  Wide lse = zeros(ir::TensorType(ir::Kind::f32, {in[0].dim(0), in[0].dim(1)}));
  for_each_query(in[0], in[1], in[3], op.window, [&](std::int64_t row, const SeenKeys& seen) {
    lse[row] = attend(in[0], row, in[1], in[2], seen, op.scale, o);
  });
  return {o, lse};
}

// With p = exp(scale q k - lse) and ds = p (do v - do o): dq = scale ds k, dk = scale ds^T q,
// dv = p^T do.
WideOutputs reference(const ir::AttentionGrad& op, const WideInputs& in) {
  const Wide &q = in[0], &k = in[1], &v = in[2], &o = in[3], &lse = in[4], &d_o = in[5];
  Wide dq = zeros(q.type), dk = zeros(k.type), dv = zeros(v.type);
  for_each_query(q, k, in[6], op.window, [&](std::int64_t row, const SeenKeys& seen) {
    const double mean = head_dot(d_o, row, o, row);
    for (const std::int64_t key : seen.rows) {
      const double p = std::exp(op.scale * head_dot(q, row, k, key) - lse[row]);
      const double ds = op.scale * p * (head_dot(d_o, row, v, key) - mean);
      add_scaled(dq, row, ds, k, key);
      add_scaled(dk, key, ds, q, row);
      add_scaled(dv, key, p, d_o, row);
    }
  });
  return {dq, dk, dv};
}

WideOutputs reference(const ir::PagedAttention& op, const WideInputs& in) {
  const Wide &q = in[0], &pages = in[1], &table = in[3], &indptr = in[4], &length = in[5];
  const std::int64_t heads = q.dim(1), kv_heads = pages.dim(2), page_tokens = pages.dim(1);
  Wide o = zeros(q.type);
  for (std::int64_t row = 0; row < table.dim(0); ++row) {
    const auto begin = static_cast<std::int64_t>(indptr[row]);
    const std::int64_t count = static_cast<std::int64_t>(indptr[row + 1]) - begin;
    const std::int64_t first_position = static_cast<std::int64_t>(length[row]) - count;
    for (std::int64_t i = 0; i < count * heads; ++i) {
      const std::int64_t position = first_position + i / heads, head = i % heads;
      SeenKeys seen;
      for (std::int64_t j = first_seen(position, op.window); j <= position; ++j) {
        const auto page = static_cast<std::int64_t>(table[row * table.dim(1) + j / page_tokens]);
        seen.rows.push_back((page * page_tokens + j % page_tokens) * kv_heads +
                            head / (heads / kv_heads));
      }
      attend(q, begin * heads + i, pages, in[2], seen, op.scale, o);
    }
  }
  return {o};
}

WideOutputs reference(const ir::PageWrite&, const WideInputs& in) {
  Wide pages = in[2];
  const std::int64_t row = in[0].dim(1) * in[0].dim(2);
  for (std::int64_t t = 0; t < in[0].dim(0); ++t) {
    const auto location = static_cast<std::int64_t>(in[1][t]);
    if (location < 0) continue;
    for (std::int64_t c = 0; c < row; ++c) pages[location * row + c] = in[0][t * row + c];
  }
  return {pages};
}

}  // namespace parhelion::test
