#include "support/conformance/cases.h"
#include "support/conformance/data.h"
#include "support/reference/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace parhelion::test {
namespace {

struct Heads {
  std::int64_t query, kv, d;
  double scale() const { return 1 / std::sqrt(static_cast<double>(d)); }
};

/// Documents, then tokens of none.
struct Packing {
  std::vector<std::int64_t> lengths;
  std::int64_t padding = 0;

  std::int64_t tokens() const { return std::accumulate(lengths.begin(), lengths.end(), padding); }
  std::int64_t longest() const { return *std::ranges::max_element(lengths); }
};

Case attention_case(const Heads& heads, const Packing& packing, std::int64_t window,
                    ir::Kind kind) {
  const std::int64_t tokens = packing.tokens();
  Case result{
      .name = "attention",
      .op = ir::Attention{.scale = heads.scale(), .window = window},
      .inputs = {normals(kind, {tokens, heads.query, heads.d}, 1),
                 normals(kind, {tokens, heads.kv, heads.d}, 2),
                 normals(kind, {tokens, heads.kv, heads.d}, 3), prefix_sums(packing.lengths)},
      .terms = packing.longest() + heads.d};
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
    result.name += " " + in_words(result.inputs[i]);
  }
  result.name += " window " + std::to_string(window);
  return result;
}

Case attention_grad_case(Case forward) {
  const auto op = std::get<ir::Attention>(forward.op);
  const std::vector<Wide> outputs = evaluate(forward.op, forward.inputs);
  const Wide& q = forward.inputs[0];
  forward.name.insert(9, "_grad");
  forward.op = ir::AttentionGrad{.scale = op.scale, .window = op.window};
  forward.inputs = {q,
                    forward.inputs[1],
                    forward.inputs[2],
                    stored_as_is(outputs[0]),
                    stored_as_is(outputs[1]),
                    normals(q.kind(), {q.dim(0), q.dim(1), q.dim(2)}, 4),
                    forward.inputs[3]};
  return forward;
}

/// Rows of a paged cache: tokens that it holds, and how many of them are new.
struct PagedRows {
  std::int64_t page_tokens;
  std::vector<std::int64_t> kv_lengths;
  std::vector<std::int64_t> new_tokens;
  std::int64_t padding = 0;

  std::int64_t rows() const { return static_cast<std::int64_t>(kv_lengths.size()); }
  std::int64_t pages_per_row() const {
    return *std::ranges::max_element(kv_lengths) / page_tokens + 1;
  }
};

/// Pages of all rows interleaved, page 0 unused.
Wide page_table_of(const PagedRows& rows) {
  Wide table = zeros(ir::TensorType(ir::Kind::i32, {rows.rows(), rows.pages_per_row()}));
  for (std::int64_t i = 0; i < table.size(); ++i) {
    const std::int64_t row = i / rows.pages_per_row(), column = i % rows.pages_per_row();
    table[i] = static_cast<double>(1 + column * rows.rows() + row);
  }
  return table;
}

/// Pages of random numbers; what no row holds is NaN.
Wide pages_of(const PagedRows& rows, const Heads& heads, ir::Kind kind, std::uint64_t seed) {
  const Wide table = page_table_of(rows);
  Wide pages = filled(kind, {table.size() + 1, rows.page_tokens, heads.kv, heads.d},
                      std::numeric_limits<double>::quiet_NaN());
  const std::int64_t width = heads.kv * heads.d;
  const Wide content = normals(kind, {pages.size()}, seed);
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    for (std::int64_t i = 0; i < rows.kv_lengths[static_cast<std::size_t>(row)]; ++i) {
      const std::int64_t entry = row * rows.pages_per_row() + i / rows.page_tokens;
      const std::int64_t slot =
          static_cast<std::int64_t>(table[entry]) * rows.page_tokens + i % rows.page_tokens;
      for (std::int64_t c = 0; c < width; ++c) pages[slot * width + c] = content[slot * width + c];
    }
  }
  return pages;
}

Case paged_attention_case(const Heads& heads, const PagedRows& rows, std::int64_t window,
                          ir::Kind kind) {
  const Wide indptr = prefix_sums(rows.new_tokens);
  const std::int64_t tokens = static_cast<std::int64_t>(indptr.values.back()) + rows.padding;
  std::vector<double> lengths(rows.kv_lengths.begin(), rows.kv_lengths.end());
  Case result{.name = "paged_attention",
              .op = ir::PagedAttention{.scale = heads.scale(), .window = window},
              .inputs = {normals(kind, {tokens, heads.query, heads.d}, 1),
                         pages_of(rows, heads, kind, 2), pages_of(rows, heads, kind, 3),
                         page_table_of(rows), indptr, listed(ir::Kind::i32, lengths)},
              .terms = *std::ranges::max_element(rows.kv_lengths) + heads.d};
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
    result.name += " " + in_words(result.inputs[i]);
  }
  result.name += " window " + std::to_string(window);
  return result;
}

Case page_write_case(std::int64_t tokens, const Heads& heads, ir::Kind kind) {
  constexpr std::int64_t kSlots = 64;  // 4 pages of 16
  Wide location = zeros(ir::TensorType(ir::Kind::i64, {tokens}));
  for (std::int64_t t = 0; t < tokens; ++t) {
    location[t] = t % 5 == 3 ? -1 : static_cast<double>((t * 7 + 3) % kSlots);
  }
  const Wide x = normals(kind, {tokens, heads.kv, heads.d}, 1);
  return {.name = "page_write " + in_words(x),
          .op = ir::PageWrite{},
          .inputs = {x, location, normals(kind, {4, 16, heads.kv, heads.d}, 2)}};
}

}  // namespace

Cases attention_cases() {
  const std::vector<std::pair<Heads, Packing>> sweep = {
      {{1, 1, 1}, {{1}}},          {{4, 2, 16}, {{7}}},       {{3, 3, 8}, {{5, 0, 9}, 3}},
      {{8, 1, 64}, {{40, 21}, 2}}, {{6, 2, 32}, {{130, 20}}}, {{2, 2, 24}, {{300}}},
      {{4, 4, 5}, {{0}, 4}}};
  Cases result;
  for (const auto& [heads, packing] : sweep) {
    for (const ir::Kind kind : {kF32, kBf16}) {
      for (const std::int64_t window : {0, 5}) {
        result.push_back(attention_case(heads, packing, window, kind));
        result.push_back(attention_grad_case(result.back()));
      }
    }
  }
  return result;
}

Cases paged_cases() {
  const std::vector<std::pair<Heads, PagedRows>> sweep = {
      {{1, 1, 1}, {1, {1}, {1}}},
      {{4, 2, 16}, {16, {9, 33, 4}, {9, 1, 0}, 2}},
      {{3, 3, 8}, {128, {200, 1}, {3, 1}}},
      {{9, 3, 64}, {16, {150, 7, 64}, {1, 1, 1}}},
      {{4, 2, 128}, {16, {150, 7, 0, 0}, {1, 1, 0, 0}, 2}},
      {{2, 1, 24}, {256, {300}, {140}}}};
  Cases result;
  for (const ir::Kind kind : {kF32, kBf16}) {
    for (const auto& [heads, rows] : sweep) {
      for (const std::int64_t window : {0, 5}) {
        result.push_back(paged_attention_case(heads, rows, window, kind));
      }
    }
    for (const std::int64_t tokens : {1, 8, 40, 0}) {
      result.push_back(page_write_case(tokens, {4, 2, 16}, kind));
      result.push_back(page_write_case(tokens, {6, 3, 7}, kind));
    }
  }
  return result;
}

}  // namespace parhelion::test
