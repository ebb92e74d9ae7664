#include "contract/stored_op.h"

#include "base/error.h"
#include "ir/expect_error.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <utility>

namespace parhelion::contract {
namespace {

template <std::size_t... Index>
std::vector<ir::Op> every_family(std::index_sequence<Index...>) {
  return {std::variant_alternative_t<Index, ir::Op>{}...};
}

TEST(StoredOp, KeepsEveryFamily) {
  for (const ir::Op& op : every_family(std::make_index_sequence<std::variant_size_v<ir::Op>>()))
    EXPECT_EQ(restore(store(op)), op) << ir::to_string(op);
}

TEST(StoredOp, KeepsEveryTypeOfField) {
  const std::array<ir::Op, 4> ops = {
      ir::RopeTable{.positions = 64,
                    .dim = 8,
                    .theta = 5e5,
                    .scaling = ir::RopeScaling::by_wavelength,
                    .original_positions = 32},
      ir::Fill{0.1, ir::Kind::bf16, {ir::Dim(ir::Symbol::rows, 2, 1), 3}},
      ir::MatMul{.transpose_b = true, .out = ir::Kind::bf16},
      ir::Reduce{ir::ReduceFunction::max, 1}};
  for (const ir::Op& op : ops) EXPECT_EQ(restore(store(op)), op) << ir::to_string(op);
}

TEST(StoredOp, RefusesAFamilyThatIsNotKnown) {
  expect_error(ErrorKind::unsupported, "OP_UNSUPPORTED: op family 4711 is not known to this build",
               [] { restore({.family = 4711, .version = 1}); });
}

TEST(StoredOp, RefusesAVersionThatIsNotKnown) {
  for (const std::uint32_t version : {0u, 2u}) {
    StoredOp op = store(ir::RmsNorm{});
    op.version = version;
    expect_error(
        ErrorKind::unsupported,
        fmt::format("OP_UNSUPPORTED: op family 4 is of version {}, this build knows 1", version),
        [&] { restore(op); });
  }
}

TEST(StoredOp, RefusesAFieldThatIsMissingTwiceOrUnknown) {
  StoredOp op = store(ir::RmsNorm{});
  op.fields.push_back(op.fields[0]);
  expect_error(ErrorKind::corrupt, "op rms_norm: field 'eps' is there twice", [&] { restore(op); });
  op.fields.clear();
  expect_error(ErrorKind::corrupt, "op rms_norm: field 'eps' is missing", [&] { restore(op); });
  op = store(ir::RmsNorm{});
  op.fields.push_back({"mean", true});
  expect_error(ErrorKind::unsupported,
               "OP_UNSUPPORTED: op rms_norm: field 'mean' is not known to this build",
               [&] { restore(op); });
}

TEST(StoredOp, RefusesAFieldOfAnotherType) {
  StoredOp op = store(ir::RmsNorm{});
  op.fields[0].value = std::int64_t{1};
  expect_error(ErrorKind::corrupt, "op rms_norm: field 'eps' is of another type",
               [&] { restore(op); });
  op.fields[0].value = std::numeric_limits<double>::infinity();
  expect_error(ErrorKind::corrupt, "op rms_norm: field 'eps' is inf, expected a number",
               [&] { restore(op); });
}

TEST(StoredOp, RefusesAnEnumeratorThatIsNotKnown) {
  StoredOp op = store(ir::Binary{});
  op.fields[0].value = "divide";
  expect_error(ErrorKind::unsupported,
               "OP_UNSUPPORTED: op binary: field 'function' is 'divide', which this build does not "
               "know",
               [&] { restore(op); });
  op.fields[0].value = "unknown";
  EXPECT_THROW(restore(op), Error);
}

// A history that rms_norm does not have: version 0 had the square root of eps under another name.
StoredOp square_root_eps(StoredOp op) {
  const double root = std::get<double>(op.fields.at(0).value);
  op.fields = {{"eps", root * root}};
  return op;
}

TEST(StoredOp, IsUpgradedStepByStep) {
  const std::array<Upgrade, 1> upgrades = {
      Upgrade{.family = 4, .from = 0, .next = square_root_eps}};
  const StoredOp old{.family = 4, .version = 0, .fields = {{"root_eps", 0.5}}};
  EXPECT_EQ(restore(old, upgrades), ir::Op(ir::RmsNorm{.eps = 0.25}));
  EXPECT_EQ(restore(store(ir::RmsNorm{.eps = 0.5}), upgrades), ir::Op(ir::RmsNorm{.eps = 0.5}));
}

}  // namespace
}  // namespace parhelion::contract
