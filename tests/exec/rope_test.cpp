#include "exec/cpu/kernels/rope.h"

#include "base/file.h"
#include "base/json.h"
#include "exec/cpu/kernels/rope_table.h"
#include "support/tensor.h"
#include "support/vector_targets.h"

namespace parhelion::exec::cpu {
namespace {

constexpr std::int64_t kPositions = 50;

test::Tensor<float> filled_table(const RopeTable& args, int threads) {
  test::Tensor<float> table(args.max_position * args.d);
  fill_rope_table(args, table.data(), threads);
  return table;
}

RopeScaling scaling_of(const Json& golden) {
  const std::string& kind = golden.find("scaling")->as_string("scaling");
  const auto number = [&](const char* key) {
    return static_cast<float>(golden.find(key)->as_double(key));
  };
  return {kind == "llama3"   ? RopeScalingKind::by_wavelength
          : kind == "linear" ? RopeScalingKind::linear
                             : RopeScalingKind::none,
          number("factor"), number("low_freq_factor"), number("high_freq_factor"),
          golden.find("original_max_position")->as_int64("original_max_position")};
}

TEST(RopeTable, EqualsTransformers) {
  const Json golden =
      parse_json(read_file(PARHELION_TEST_DATA "/exec/rope_table.json"), "rope_table.json");
  const auto& positions = golden.find("positions")->as_array("positions");
  for (const Json& each : golden.find("cases")->as_array("cases")) {
    const RopeTable args = {each.find("theta")->as_double("theta"), each.find("d")->as_int64("d"),
                            4096, scaling_of(each)};
    const auto table = filled_table(args, 2);
    const auto& rows = each.find("rows")->as_array("rows");
    ASSERT_EQ(rows.size(), positions.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const auto& row = rows[r].as_array("row");
      for (std::size_t c = 0; c < row.size(); ++c) {
        const std::int64_t at = positions[r].as_int64("position") * args.d;
        EXPECT_NEAR(table.at(at + static_cast<std::int64_t>(c)), row[c].as_double("cell"), 1e-6)
            << "theta " << args.theta << " d " << args.d << " row " << r << " column " << c;
      }
    }
  }
}

TEST(RopeTable, HasOneResultAtAnyThreadCount) {
  const RopeTable args = {10000.0, 80, 100, {}};
  EXPECT_TRUE(test::same_bits(filled_table(args, 1), filled_table(args, 3)));
}

template <class T>
struct RopeCase {
  std::int64_t tokens;
  std::int64_t heads;
  std::int64_t d;
  test::Tensor<T> x = test::normal_tensor<T>(tokens * heads * d, 1);
  test::Tensor<float> table = filled_table({10000.0, d, kPositions, {}}, 1);
  std::vector<std::int32_t> positions = std::vector<std::int32_t>(static_cast<std::size_t>(tokens));

  RopeCase(std::int64_t token_count, std::int64_t head_count, std::int64_t columns)
      : tokens(token_count), heads(head_count), d(columns) {
    for (std::size_t t = 0; t < positions.size(); ++t) {
      positions[t] = static_cast<std::int32_t>(t * 7 % kPositions);
    }
  }
};

template <class T>
test::Tensor<T> run_rope(const RopeCase<T>& made, RopeDirection direction, int threads) {
  test::Tensor<T> y(made.x.size());
  rope({sizeof(T) == 4 ? ir::Kind::f32 : ir::Kind::bf16, direction, made.x.data(),
        made.positions.data(), made.table.data(), y.data(), made.tokens, made.heads, made.d,
        kPositions, made.heads * made.d},
       threads);
  return y;
}

/// The rotated element i in f64; sign -1 is the inverse.
template <class T>
double rotated(const RopeCase<T>& made, std::int64_t i, double sign) {
  const std::int64_t half = made.d / 2;
  const std::int64_t c = i % made.d;
  const std::int64_t angle = c % half;
  const std::int64_t row =
      made.positions[static_cast<std::size_t>(i / (made.heads * made.d))] * made.d;
  const double cosine = made.table.at(row + angle);
  const double sine = sign * made.table.at(row + half + angle);
  return c < half ? made.x.at(i) * cosine - made.x.at(i + half) * sine
                  : made.x.at(i) * cosine + made.x.at(i - half) * sine;
}

template <class T>
void expect_rotation(std::int64_t tokens, std::int64_t heads, std::int64_t d) {
  const RopeCase<T> made(tokens, heads, d);
  const auto forward = [&](std::int64_t i) { return rotated(made, i, 1); };
  const auto inverse = [&](std::int64_t i) { return rotated(made, i, -1); };
  const double bound = test::tolerance<T>(2);
  EXPECT_TRUE(test::is_near(run_rope(made, RopeDirection::forward, 2), forward, bound));
  EXPECT_TRUE(test::is_near(run_rope(made, RopeDirection::inverse, 2), inverse, bound));
}

TEST(Rope, MatchesDoubles) {
  test::on_each_vector_target([] {
    for (const std::int64_t d : {2, 6, 64, 80, 128}) {
      expect_rotation<float>(7, 3, d);
      expect_rotation<BFloat16>(7, 3, d);
    }
    expect_rotation<float>(0, 3, 64);
  });
}

TEST(Rope, KeepsBitsAtAnyThreadCount) {
  const RopeCase<BFloat16> made(300, 3, 80);
  EXPECT_TRUE(test::same_bits(run_rope(made, RopeDirection::forward, 1),
                              run_rope(made, RopeDirection::forward, 2)));
}

TEST(Rope, GivesATokenItsBitsAlone) {
  const RopeCase<float> made(9, 3, 64);
  const auto together = run_rope(made, RopeDirection::forward, 1);
  RopeCase<float> alone(1, 3, 64);
  alone.positions[0] = made.positions[5];
  std::copy_n(made.x.data() + 5 * 3 * 64, 3 * 64, alone.x.data());
  EXPECT_TRUE(test::same_bits(run_rope(alone, RopeDirection::forward, 1).data(),
                              together.data() + 5 * 3 * 64, 3 * 64));
}

TEST(Rope, ReadsRowsThatLieApart) {
  const RopeCase<float> made(4, 2, 16);
  test::Tensor<float> y(2 * 2 * 16);
  rope({ir::Kind::f32, RopeDirection::forward, made.x.data(), made.positions.data(),
        made.table.data(), y.data(), 2, 2, 16, kPositions, 2 * 2 * 16},
       1);
  RopeCase<float> second(1, 2, 16);
  second.positions[0] = made.positions[1];
  std::copy_n(made.x.data() + 2 * 2 * 16, 2 * 16, second.x.data());
  EXPECT_TRUE(
      test::same_bits(run_rope(second, RopeDirection::forward, 1).data(), y.data() + 32, 32));
}

}  // namespace
}  // namespace parhelion::exec::cpu
