#include "ir/ops/rope.h"

#include "ir/op_checks.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

TEST(RopeTable, ChecksItsAttributes) {
  const RopeTable table{.positions = 16, .dim = 8};
  RopeTable llama3 = table;
  llama3.scaling = RopeScaling::by_wavelength;
  expect_refusals({
      {table, {"f32[1]"}, "rope_table C0: has 1 inputs, expected 0"},
      {RopeTable{.positions = 16, .dim = 7}, {}, "rope_table C1: dim is 7, expected even and > 0"},
      {RopeTable{.positions = 0, .dim = 8}, {}, "rope_table C1: positions is 0, expected > 0"},
      {RopeTable{.positions = 16, .dim = 8, .theta = 0},
       {},
       "rope_table C2: theta is 0, expected > 0"},
      {RopeTable{.positions = 16, .dim = 8, .factor = -2},
       {},
       "rope_table C3: factor is -2, expected > 0"},
      {llama3,
       {},
       "rope_table C4: low_frequency 1, high_frequency 4, original_positions 0, expected 0 < low < "
       "high and original_positions > 0"},
  });
}

TEST(Rope, ChecksItsOperands) {
  expect_refusals({
      {Rope{}, {"f32[2, 2, 8]"}, "rope C0: has 1 inputs, expected 3"},
      {Rope{}, {"f32[2, 8]", "i32[2]", "f32[16, 8]"}, "rope C1: rank(x) is 2, expected 3"},
      {Rope{},
       {"i32[2, 2, 8]", "i32[2]", "f32[16, 8]"},
       "rope C1: dtype(x) is i32, expected f32 or bf16"},
      {Rope{},
       {"f32[tokens, 2, 8]", "i32[rows]", "f32[16, 8]"},
       "rope C2: type(positions) is i32[rows], expected i32[tokens]"},
      {Rope{}, {"f32[2, 2, 8]", "i32[2]", "f32[16]"}, "rope C3: rank(table) is 1, expected 2"},
      {Rope{},
       {"f32[2, 2, 8]", "i32[2]", "f32[16, 4]"},
       "rope C3: type(table) is f32[16, 4], expected f32[16, 8]"},
  });
}

}  // namespace
}  // namespace parhelion::ir
