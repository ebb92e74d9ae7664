#include "exec/cuda/cuda_executor.h"
#include "exec/cuda/ops/length_classes.h"
#include "exec/cuda/ops/row_layouts.h"
#include "ir/builder.h"
#include "ir/passes/lower.h"
#include "support/conformance/checks.h"
#include "support/conformance/data.h"
#include "support/reference/evaluate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <variant>
#include <vector>

namespace parhelion::exec {
namespace {

using cuda::LengthClass;

TEST(LengthClasses, TakeFewDocumentsAtOnce) {
  EXPECT_EQ(cuda::length_classes(4096, 4, 1024, std::int64_t{1} << 22),
            (std::vector<LengthClass>{{.slots = 4, .shortest = 0, .longest = 1024}}));
}

TEST(LengthClasses, KeepTheAreaOfManyDocumentsNearTheBudget) {
  const auto classes = cuda::length_classes(16384, 512, 4096, 0);
  EXPECT_EQ(classes, (std::vector<LengthClass>{{.slots = 7, .shortest = 2048, .longest = 4096},
                                               {.slots = 31, .shortest = 512, .longest = 2048},
                                               {.slots = 512, .shortest = 0, .longest = 512}}));
}

TEST(LengthClasses, CoverEveryLengthWithRoomForAllItsDocuments) {
  for (const std::int64_t tokens : {1, 7, 300, 16384}) {
    for (const std::int64_t documents : {1, 5, 300, 20000}) {
      for (std::int64_t longest = 1; longest <= tokens; longest = longest * 3 + 1) {
        std::int64_t next = longest;
        for (const LengthClass& each : cuda::length_classes(tokens, documents, longest, 0)) {
          EXPECT_EQ(each.longest, next);
          EXPECT_LT(each.shortest, each.longest);
          EXPECT_GE(each.slots, std::min(documents, tokens / (each.shortest + 1)));
          next = each.shortest;
        }
        EXPECT_EQ(next, 0);
      }
    }
  }
}

TEST(SlotChoices, ReachTheWholeInStepsOfEight) {
  EXPECT_EQ(cuda::slot_choices(16), std::vector<std::int64_t>{16});
  EXPECT_EQ(cuda::slot_choices(31), (std::vector<std::int64_t>{4, 31}));
  EXPECT_EQ(cuda::slot_choices(512), (std::vector<std::int64_t>{8, 64, 512}));
  EXPECT_EQ(std::ssize(cuda::slot_choices(std::int64_t{1} << 30)), cuda::kMostSlotChoices);
}

test::MakeExecutor exact_cuda() {
  return [] { return make_cuda_executor({.numerics = Numerics::exact, .plan_cache = {}}); };
}

struct AttentionHeads {
  std::int64_t query, kv, d;
  double scale() const { return 1 / std::sqrt(static_cast<double>(d)); }
};

/// Queries, keys and values of documents.
test::Case packed_case(const AttentionHeads& heads, const std::vector<std::int64_t>& lengths,
                       std::int64_t longest) {
  const std::int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  return {.name = "packed",
          .op = ir::Attention{.scale = heads.scale(), .longest = longest},
          .inputs = {test::normals(test::kBf16, {tokens, heads.query, heads.d}, 1),
                     test::normals(test::kBf16, {tokens, heads.kv, heads.d}, 2),
                     test::normals(test::kBf16, {tokens, heads.kv, heads.d}, 3),
                     test::prefix_sums(lengths)},
          .terms = longest + heads.d};
}

test::Case gradient_case(test::Case packed) {
  const auto op = std::get<ir::Attention>(packed.op);
  const std::vector<test::Wide> outputs = test::evaluate(packed.op, packed.inputs);
  const test::Wide indptr = packed.inputs[3];
  packed.op = ir::AttentionGrad{.scale = op.scale, .longest = op.longest};
  packed.inputs.resize(3);
  packed.inputs.push_back(test::stored_as_is(outputs[0]));
  packed.inputs.push_back(test::stored_as_is(outputs[1]));
  const test::Wide& q = packed.inputs[0];
  packed.inputs.push_back(test::normals(test::kBf16, {q.dim(0), q.dim(1), q.dim(2)}, 4));
  packed.inputs.push_back(indptr);
  return packed;
}

/// Documents of one to three tokens between longer ones: more than go at once.
TEST(CudaAttention, AgreesWithTheReferenceOnManyDocumentsOfMixedLengths) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < 320; ++i) lengths.push_back(i % 64 == 7 ? 90 + i : i % 4);
  const test::Case packed = packed_case({2, 1, 64}, lengths, 1024);
  const std::int64_t tokens = packed.inputs[0].dim(0);
  ASSERT_GT(cuda::length_classes(tokens, 320, 1024, std::int64_t{1} << 28).size(), 1u);
  test::expect_reference(exact_cuda(), packed, 0x1p-6);
  test::expect_reference(exact_cuda(), gradient_case(packed), 0x1p-5);
  test::expect_same_bits(exact_cuda(), exact_cuda(), gradient_case(packed));
}

/// Capacities at which all go at once, a switch chooses slots, and documents are parted by length.
TEST(CudaAttention, HasTheSameBitsAtAnyCapacityOfDocuments) {
  const test::Case packed = packed_case({2, 1, 64}, {1024, 700, 0, 130, 5}, 1024);
  for (test::Case each : {packed, gradient_case(packed)}) {
    const test::Outcome few = test::run_case(exact_cuda(), each);
    for (const std::size_t capacity : {32u, 512u}) {
      std::vector<double>& indptr = each.inputs.back().values;
      indptr.resize(capacity + 1, indptr.back());
      each.inputs.back().type.shape[0] = static_cast<std::int64_t>(capacity) + 1;
      const test::Outcome many = test::run_case(exact_cuda(), each);
      for (std::size_t i = 0; i < few.outputs.size(); ++i)
        EXPECT_EQ(few.outputs[i].values, many.outputs[i].values) << capacity << ", output " << i;
    }
  }
}

/// One row a count of new tokens, which are the last of the first `kv_length` tokens of the
/// sequence.
struct PagedRow {
  std::int64_t kv_length, new_tokens;
};

struct PagedBatch {
  std::vector<PagedRow> rows;
  std::int64_t padding = 0;  ///< tokens of no row
};

/// Rows read one of three copies of the sequence, by turns: copy c has its pages c places later, so
/// that no row can do with another's table.
constexpr std::int64_t kCopies = 3;

double page_of(std::int64_t copy, std::int64_t page, std::int64_t pages) {
  return static_cast<double>(copy * pages + (page + copy) % pages);
}

std::vector<double> copied_pages(const std::vector<double>& values, std::int64_t pages) {
  std::vector<double> result(values.size() * kCopies);
  const std::int64_t size = std::ssize(values) / pages;
  for (std::int64_t copy = 0; copy < kCopies; ++copy)
    for (std::int64_t page = 0; page < pages; ++page)
      std::copy_n(values.begin() + page * size, size,
                  result.begin() + static_cast<std::int64_t>(page_of(copy, page, pages)) * size);
  return result;
}

test::Case paged_case(const AttentionHeads& heads, const test::Case& packed,
                      const PagedBatch& batch, std::int64_t page_tokens) {
  const std::vector<PagedRow>& rows = batch.rows;
  const std::int64_t pages = packed.inputs[0].dim(0) / page_tokens;
  const std::int64_t width = heads.query * heads.d;
  std::vector<double> table, lengths;
  std::vector<std::int64_t> counts;
  test::Wide q = test::zeros({test::kBf16, {0, heads.query, heads.d}});
  for (const PagedRow& row : rows) {
    for (std::int64_t page = 0; page < pages; ++page)
      table.push_back(page_of((&row - rows.data()) % kCopies, page, pages));
    lengths.push_back(static_cast<double>(row.kv_length));
    counts.push_back(row.new_tokens);
    const auto end = packed.inputs[0].values.begin() + row.kv_length * width;
    q.values.insert(q.values.end(), end - row.new_tokens * width, end);
  }
  q.type.shape[0] = std::accumulate(counts.begin(), counts.end(), batch.padding);
  q.values.resize(static_cast<std::size_t>(q.dim(0) * width), 1);
  test::Case result{
      .name = "paged", .op = ir::PagedAttention{.scale = heads.scale()}, .inputs = {}};
  const ir::TensorType page_type{test::kBf16, {kCopies * pages, page_tokens, heads.kv, heads.d}};
  const ir::TensorType table_type{ir::Kind::i32, {std::ssize(rows), pages}};
  result.inputs = {q,
                   {page_type, copied_pages(packed.inputs[1].values, pages)},
                   {page_type, copied_pages(packed.inputs[2].values, pages)},
                   {table_type, table},
                   test::prefix_sums(counts),
                   test::listed(ir::Kind::i32, lengths)};
  return result;
}

void expect_rows_of_training(const AttentionHeads& heads, const PagedBatch& batch) {
  constexpr std::int64_t kTokens = 512;
  const test::Case packed = packed_case(heads, {kTokens}, kTokens);
  const test::Outcome trained = test::run_case(exact_cuda(), packed);
  const test::Outcome served = test::run_case(exact_cuda(), paged_case(heads, packed, batch, 16));
  EXPECT_EQ(trained.numerics, served.numerics);
  const std::int64_t width = heads.query * heads.d;
  auto at = served.outputs[0].values.begin();
  for (const PagedRow& row : batch.rows) {
    const auto end = trained.outputs[0].values.begin() + row.kv_length * width;
    EXPECT_TRUE(std::equal(end - row.new_tokens * width, end, at))
        << served.kernel << ": the last " << row.new_tokens << " of " << row.kv_length
        << " tokens, heads " << heads.query << "/" << heads.kv << ", d " << heads.d;
    at += row.new_tokens * width;
  }
  EXPECT_TRUE(std::all_of(at, served.outputs[0].values.end(), [](double y) { return y == 0; }))
      << served.kernel << ": padding";
}

TEST(CudaAttention, ServesTheBitsOfTrainingWhenExact) {
  for (const AttentionHeads& heads :
       {AttentionHeads{16, 8, 128}, AttentionHeads{9, 3, 64}, AttentionHeads{4, 4, 64}}) {
    expect_rows_of_training(heads, {{{317, 1}}});
    expect_rows_of_training(heads, {{{1, 1}, {2, 1}, {128, 1}, {129, 1}, {512, 1}}});
    expect_rows_of_training(heads, {{{300, 1}, {512, 1}, {0, 0}, {0, 0}, {0, 0}}, 3});
    expect_rows_of_training(heads, {{{300, 1}, {512, 1}, {0, 0}}, 4});
    expect_rows_of_training(heads, {{{512, 512}}});
    expect_rows_of_training(heads, {{{40, 16}, {300, 1}, {0, 0}, {511, 2}, {77, 77}}, 5});
  }
}

/// Rows of which so many have several tokens, the others one.
PagedBatch mixed_batch(std::int64_t rows, std::int64_t several) {
  PagedBatch batch{.rows = {}, .padding = 9};
  const std::int64_t step = rows / std::max<std::int64_t>(several, 1);
  for (std::int64_t row = 0; row < rows; ++row) {
    const bool has_several = row % step == step - 1 && row / step < several;
    batch.rows.push_back({30 + row * 7, has_several ? 2 + row % 19 : 1});
  }
  return batch;
}

/// Rows of several tokens for which there is a graph of few slots, of all, and none.
TEST(CudaAttention, HasTheSameBitsHoweverManyRowsHaveSeveralTokens) {
  ASSERT_EQ(cuda::slot_choices(40), (std::vector<std::int64_t>{5, 40}));
  for (const std::int64_t several : {0, 1, 5, 6, 20})
    expect_rows_of_training({4, 2, 64}, mixed_batch(40, several));
}

TEST(CudaAttention, ReadsNoKeysOfIdleRowsWhenFast) {
  const AttentionHeads heads{16, 8, 128};
  const test::Case packed = packed_case(heads, {512}, 512);
  const auto fast = [] {
    return make_cuda_executor({.numerics = Numerics::fast, .plan_cache = {}});
  };
  test::expect_reference(fast, paged_case(heads, packed, {{{317, 1}}}, 16), 0x1p-5);
  test::expect_reference(
      fast, paged_case(heads, packed, {{{300, 1}, {512, 1}, {0, 0}, {0, 0}}, 2}, 16), 0x1p-5);
}

struct PagedLayers {
  ir::Program program;
  test::NamedWide buffers;
};

/// Layers of one program. A table, prefix sums or lengths equal to the first's are the first's.
/// Outputs are `out0` and so on.
PagedLayers layers_of_one_program(const std::vector<test::Case>& layers) {
  PagedLayers made;
  made.program.name = "layers";
  ir::Builder builder(made.program);
  std::vector<ir::ValueId> first;
  for (const test::Case& layer : layers) {
    const std::string of = std::to_string(&layer - layers.data());
    std::vector<ir::ValueId> operands;
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
      const bool is_shared =
          !first.empty() && i >= 3 && layer.inputs[i].values == layers.front().inputs[i].values;
      const std::string name = "in" + of + "." + std::to_string(i);
      operands.push_back(is_shared ? first[i] : builder.input(name, layer.inputs[i].type));
      if (!is_shared) made.buffers[name] = layer.inputs[i];
    }
    if (first.empty()) first = operands;
    builder.output("out" + of, builder.one(layer.op, operands));
  }
  return made;
}

void expect_layers_alone(const std::vector<test::Case>& layers) {
  const PagedLayers made = layers_of_one_program(layers);
  const auto executor = exact_cuda()();
  const auto plan = executor->plan(ir::lower(made.program, {}), Weights::frozen);
  const test::NamedWide together = test::run_instance(*executor, *plan, made.buffers);
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const test::Outcome alone = test::run_case(exact_cuda(), layers[layer]);
    EXPECT_TRUE(test::same_bits(together.at("out" + std::to_string(layer)), alone.outputs.front()))
        << "layer " << layer << ", " << alone.kernel;
  }
}

TEST(CudaAttention, GivesLayersThatShareRowsTheBitsOfEachAlone) {
  const AttentionHeads heads{4, 2, 64};
  const test::Case packed = packed_case(heads, {256}, 256);
  for (const PagedBatch& batch :
       {PagedBatch{{{200, 1}, {17, 1}, {0, 0}}, 1}, PagedBatch{{{40, 16}, {250, 1}}, 2}}) {
    const test::Case first = paged_case(heads, packed, batch, 16);
    test::Case second = first, third = first;
    std::swap(second.inputs[1], second.inputs[2]);
    third.inputs[5].values.front() = 96;
    expect_layers_alone({first, second, third, first});
  }
}

TEST(CudaAttention, LaysEqualRowsOutOnce) {
  cuda::RowLayouts layouts;
  const cuda::PagedRows rows{.page_table = {1},
                             .query_indptr = {2},
                             .kv_length = {3},
                             .shape = {.rows = 5, .tokens = 5, .pages = 9, .pages_per_row = 2}};
  cuda::PagedRows others = rows;
  others.kv_length = {4};
  const cuda::SharedLayout first = layouts.find(rows);
  const cuda::SharedLayout other = layouts.find(others);
  const cuda::SharedLayout again = layouts.find(rows);
  EXPECT_TRUE(first.is_new && other.is_new);
  EXPECT_FALSE(again.is_new);
  EXPECT_EQ(again.layout.several.table, first.layout.several.table);
  EXPECT_NE(other.layout.several.table, first.layout.several.table);
}

}  // namespace
}  // namespace parhelion::exec
