#include "support/conformance/cases.h"
#include "support/conformance/data.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace parhelion::test {
namespace {

constexpr double kNoLogit = -std::numeric_limits<double>::infinity();

Case feed_case(std::int64_t tokens, const std::vector<double>& drawn) {
  const auto slots = static_cast<std::int64_t>(drawn.size());
  return {.name = "feed_tokens " + std::to_string(tokens) + " of " + std::to_string(slots),
          .op = ir::FeedTokens{},
          .inputs = {indices(tokens, 0, 500, 1), indices(tokens, -2, slots + 2, 2),
                     listed(ir::Kind::i32, drawn)}};
}

/// Every third row has no slot, every fifth one that does not exist; the others descend.
Case keep_case(std::int64_t rows) {
  std::vector<double> slots;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t slot = r % 5 == 4 ? rows + 90 : rows + 2 - r;
    slots.push_back(r % 3 == 0 ? -1 : static_cast<double>(slot));
  }
  return {.name = "keep_tokens " + std::to_string(rows),
          .op = ir::KeepTokens{},
          .inputs = {indices(rows, -1, 500, 1), listed(ir::Kind::i32, slots),
                     indices(rows + 3, 0, 500, 2)}};
}

/// Small whole numbers, which every kind has.
Wide numbered(ir::Kind kind, const std::vector<std::int64_t>& dims) {
  Wide result = zeros(ir::TensorType(kind, shape_of(dims)));
  for (std::int64_t i = 0; i < result.size(); ++i) result[i] = static_cast<double>(i % 113);
  return result;
}

/// Lanes to copy, and lanes without a page, with one that does not exist, and with the null page.
Case copy_case(ir::Kind kind, std::vector<std::int64_t> page) {
  page.insert(page.begin(), 9);
  const Wide pages = numbered(kind, page);
  return {.name = "copy_pages " + in_words(pages),
          .op = ir::CopyPages{},
          .inputs = {listed(ir::Kind::i32, {1, 2, -1, 3, 0, 12, 3, 1}),
                     listed(ir::Kind::i32, {5, 6, 7, 0, 8, 4, 9, -3}), pages}};
}

/// A mask of which row 0 has every bit, row 1 none of the ids, and others some.
Wide mixed_mask(std::int64_t rows, std::int64_t vocabulary) {
  Wide mask = indices(rows * ir::mask_words(vocabulary), std::numeric_limits<std::int32_t>::min(),
                      std::numeric_limits<std::int32_t>::max(), 3);
  mask.type.shape = shape_of({rows, ir::mask_words(vocabulary)});
  for (std::int64_t i = 0; i < std::min(mask.size(), 2 * mask.dim(1)); ++i)
    mask[i] = i < mask.dim(1) ? -1 : 0;
  return mask;
}

/// Row r has `lengths[r]` edits, of every third id from -3 on.
Case edit_case(Wide logits, const std::vector<std::int64_t>& lengths) {
  const std::int64_t rows = logits.dim(0), vocabulary = logits.dim(1);
  const Wide indptr = prefix_sums(lengths);
  const std::int64_t edits = static_cast<std::int64_t>(indptr[rows]) + 5;
  Wide ids = indices(edits, 0, vocabulary, 4);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (auto e = static_cast<std::int64_t>(indptr[r]);
         e < static_cast<std::int64_t>(indptr[r + 1]); ++e)
      ids[e] = 3 * (static_cast<double>(e) - indptr[r]) - 3;
  }
  Wide scale = filled(kF32, {edits}, 1);
  for (std::int64_t e = 0; e < edits; ++e) scale[e] = rounded(kF32, e % 2 == 0 ? 1.3 : 0.7);
  return {.name = "edit_logits " + in_words(logits) + " " + std::to_string(edits),
          .op = ir::EditLogits{},
          .inputs = {std::move(logits), indptr, ids, normals(kF32, {edits}, 5), scale,
                     normals(kF32, {edits}, 6), mixed_mask(rows, vocabulary)}};
}

/// Bounds that ascend nowhere, and lie outside of the list.
Case wild_edit_case() {
  Case result = edit_case(normals(kF32, {4, 70}, 7, 3), {9, 4, 12, 1});
  result.inputs[1] = listed(ir::Kind::i32, {-5, 9, 1000000, 3, 2});
  Wide& ids = result.inputs[2];  // a row may now have those of several
  for (std::int64_t e = 0; e < ids.size(); ++e) ids[e] = static_cast<double>(2 * e - 4);
  result.name += " wild";
  return result;
}

Case top_case(Wide logits, std::int64_t count) {
  Case result{.name = "top_log_probabilities " + in_words(logits) + " " + std::to_string(count),
              .op = ir::TopLogProbabilities{count},
              .inputs = {std::move(logits)}};
  result.terms = result.inputs[0].dim(1);
  return result;
}

/// Many equal logits in each row.
Wide plateaus(std::int64_t rows, std::int64_t columns) {
  Wide result = normals(kF32, {rows, columns}, 8);
  for (double& each : result.values) each = std::round(2 * each) / 2;
  return result;
}

/// A row of nothing, a row of two logits, a row where they ascend.
Wide sparse_logits(std::int64_t columns) {
  Wide result = filled(kF32, {3, columns}, kNoLogit);
  result[columns + 1] = -2;
  result[2 * columns - 1] = 1;
  for (std::int64_t c = 0; c < columns; ++c) result[2 * columns + c] = static_cast<double>(c) / 64;
  return result;
}

}  // namespace

Cases serving_cases() {
  Cases result;
  for (const std::int64_t rows : {1, 7, 300, 0}) {
    result.push_back(feed_case(rows, {7, -1, 400, 0, 12}));
    result.push_back(keep_case(rows));
  }
  for (const ir::Kind kind : {kF32, kBf16, ir::Kind::i32, ir::Kind::bool8}) {
    for (const std::vector<std::int64_t>& page :
         std::vector<std::vector<std::int64_t>>{{4, 2, 3}, {16, 2, 8}, {3}, {64, 4, 128}}) {
      result.push_back(copy_case(kind, page));
    }
  }
  result.push_back(copy_case(kF32, {16, 2, 8}));
  for (const std::size_t lanes : {0u, 1u}) {
    result.back().inputs[lanes] = listed(ir::Kind::i32, {});
    result.back().name += " none";
  }
  result.push_back(edit_case(normals(kF32, {1, 1}, 1), {3}));
  result.push_back(edit_case(normals(kF32, {3, 40}, 1, 3), {4, 0, 14}));
  result.push_back(edit_case(normals(kF32, {5, 33}, 2, 3), {0, 5, 12, 1, 11}));
  result.push_back(edit_case(normals(kF32, {4, 5000}, 3, 3), {0, 30, 1200, 2}));
  result.push_back(edit_case(normals(kF32, {3, 9001}, 4, 3), {3000, 30, 700}));
  result.push_back(edit_case(normals(kF32, {0, 5}, 1), {}));
  result.push_back(wild_edit_case());
  for (const std::int64_t count : {1, 5, 20, 32}) {
    result.push_back(top_case(normals(kF32, {4, 7}, 1, 2), count));
    result.push_back(top_case(normals(kF32, {3, 40000}, 2, 2), count));
    result.push_back(top_case(plateaus(3, 5001), count));
    result.push_back(top_case(sparse_logits(3000), count));
  }
  result.push_back(top_case(normals(kF32, {1, 1}, 3), 3));
  result.push_back(top_case(normals(kF32, {0, 9}, 3), 3));
  return result;
}

}  // namespace parhelion::test
