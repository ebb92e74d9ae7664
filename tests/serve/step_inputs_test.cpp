#include "serve/step_inputs.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>

namespace parhelion::serve {
namespace {

/// A plan that is nothing but its inputs, full of ones bits before they are written.
class InputsOnly final : public exec::Plan {
 public:
  InputsOnly(std::int64_t tokens, std::int64_t rows, std::int64_t pages_per_row,
             std::int64_t logit_rows) {
    for (const char* name : {"token_ids", "token_source", "positions"}) add(name, 4 * tokens);
    add("write_location", 8 * tokens);
    add("query_indptr", 4 * (rows + 1));
    add("kv_length", 4 * rows);
    add("page_table", 4 * rows * pages_per_row);
    for (const char* name :
         {"logit_index", "target_ids", "temperature", "top_k", "top_p", "min_p", "draw_slot"})
      add(name, 4 * logit_rows);
    for (const char* name : {"seed", "draw_offset"}) add(name, 8 * logit_rows);
  }

  std::span<std::byte> host(std::string_view name) override { return bytes_.at(std::string(name)); }
  void start() override {}
  void wait() override {}
  std::vector<std::chrono::nanoseconds> profile() override { return {}; }
  const ir::Program& instance() const override { return program_; }
  const ir::MemoryPlan& memory() const override { return memory_; }
  std::span<const exec::StepReport> steps() const override { return {}; }

  template <class T>
  std::vector<T> values(const std::string& name) {
    std::vector<T> result(bytes_.at(name).size() / sizeof(T));
    std::memcpy(result.data(), bytes_.at(name).data(), bytes_.at(name).size());
    return result;
  }

 private:
  void add(const char* name, std::int64_t count) {
    bytes_[name].assign(static_cast<std::size_t>(count), std::byte{0xff});
  }

  std::map<std::string, std::vector<std::byte>> bytes_;
  ir::Program program_;
  ir::MemoryPlan memory_;
};

using Ids = std::vector<std::int32_t>;

TEST(StepInputs, PacksRowsAndFillsIdleLanes) {
  InputsOnly plan(6, 3, 2, 3);
  const Ids tokens_0 = {11, 12, 13};
  const Ids tokens_1 = {21};
  const Ids pages_0 = {5, 2};
  const Ids pages_1 = {7};
  const std::vector<LogitQuery> query_0 = {
      {.token = 2, .target = 9, .sampling = {.temperature = 0.5f, .seed = 4}}};
  const std::vector<LogitQuery> query_1 = {{.token = 0, .target = -1, .sampling = {}}};
  const std::vector<StepRow> rows = {
      {.tokens = tokens_0, .position = 3, .pages = pages_0, .queries = query_0},
      {.tokens = tokens_1, .position = 0, .pages = pages_1, .queries = query_1}};
  write_inputs(plan, rows, 4, StepKind::plain);
  EXPECT_EQ(plan.values<std::int32_t>("token_ids"), (Ids{11, 12, 13, 21, 0, 0}));
  EXPECT_EQ(plan.values<std::int32_t>("token_source"), Ids(6, -1));
  EXPECT_EQ(plan.values<std::int32_t>("positions"), (Ids{3, 4, 5, 0, 0, 0}));
  EXPECT_EQ(plan.values<std::int64_t>("write_location"),
            (std::vector<std::int64_t>{23, 8, 9, 28, -1, -1}));
  EXPECT_EQ(plan.values<std::int32_t>("query_indptr"), (Ids{0, 3, 4, 4}));
  EXPECT_EQ(plan.values<std::int32_t>("kv_length"), (Ids{6, 1, 0}));
  EXPECT_EQ(plan.values<std::int32_t>("page_table"), (Ids{5, 2, 7, 0, 0, 0}));
  EXPECT_EQ(plan.values<std::int32_t>("logit_index"), (Ids{2, 3, -1}));
  EXPECT_EQ(plan.values<std::int32_t>("target_ids"), (Ids{9, -1, -1}));
  EXPECT_EQ(plan.values<float>("temperature"), (std::vector<float>{0.5f, 0, 0}));
  EXPECT_EQ(plan.values<float>("top_p"), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(plan.values<std::uint64_t>("seed"), (std::vector<std::uint64_t>{4, 0, 0}));
  EXPECT_EQ(plan.values<std::uint64_t>("draw_offset"), (std::vector<std::uint64_t>{6, 1, 0}));
  EXPECT_EQ(plan.values<std::int32_t>("draw_slot"), Ids(3, -1));
}

}  // namespace
}  // namespace parhelion::serve
