#include "support/conformance/cases.h"
#include "support/conformance/data.h"

namespace parhelion::test {
namespace {

using Dims = std::vector<std::int64_t>;

Case rms_norm_case(const ir::Op& op, std::vector<Wide> inputs) {
  const Wide& x = inputs[0];
  std::string name = std::string(ir::traits(op).name) + " " + in_words(x);
  const std::int64_t columns = ir::number(x.type.shape.back());
  const bool sums_rows = std::holds_alternative<ir::RmsNormGradWeight>(op);
  const std::int64_t rows = sums_rows ? x.size() / columns : 0;
  Case result{.name = std::move(name), .op = op, .inputs = std::move(inputs)};
  result.terms = columns + rows;
  result.between = result.inputs[0].kind();
  return result;
}

Case embedding_case(std::int64_t tokens, std::int64_t rows, std::int64_t columns, ir::Kind kind) {
  const Wide table = normals(kind, {rows, columns}, 1);
  return {.name = "embedding " + in_words(table) + " of " + std::to_string(tokens),
          .op = ir::Embedding{},
          .inputs = {indices(tokens, -2, rows + 2, 2), table}};
}

Case embedding_grad_case(std::int64_t tokens, std::int64_t rows, std::int64_t columns,
                         ir::Kind kind) {
  const Wide dy = normals(kind, {tokens, columns}, 1);
  return {.name = "embedding_grad " + in_words(dy) + " to " + std::to_string(rows),
          .op = ir::EmbeddingGrad{},
          .inputs = {indices(tokens, -2, rows + 2, 2), dy, normals(kF32, {rows, columns}, 3)},
          .terms = tokens + 1};
}

/// Angles carry the position as a factor of their rounding, hence the terms.
Case rope_table_case(const ir::RopeTable& op) {
  return {
      .name = to_string(ir::Op(op)), .op = op, .inputs = {}, .terms = op.positions * op.positions};
}

Case rope_case(const Dims& dims, bool inverse, ir::Kind kind) {
  constexpr std::int64_t kPositions = 50;
  const Wide x = normals(kind, dims, 1);
  return {
      .name = std::string(inverse ? "rope inverse " : "rope ") + in_words(x),
      .op = ir::Rope{.inverse = inverse},
      .inputs = {x, indices(dims[0], 0, kPositions, 2), normals(kF32, {kPositions, dims[2]}, 3)},
      .terms = 2};
}

}  // namespace

Cases norm_cases() {
  constexpr double kEps = 0.1;  // so large that leaving it out would show
  Cases result;
  for (const Dims& dims : std::vector<Dims>{{1}, {1, 7}, {3, 64}, {2, 5, 33}, {70, 576}, {0, 8}}) {
    for (const ir::Kind kind : {kF32, kBf16}) {
      const Wide x = normals(kind, dims, 1), dy = normals(kind, dims, 2);
      const Wide w = normals(kind, {dims.back()}, 3), acc = normals(kF32, {dims.back()}, 4);
      result.push_back(rms_norm_case(ir::RmsNorm{kEps}, {x, w}));
      result.push_back(rms_norm_case(ir::RmsNormGradInput{kEps}, {x, w, dy}));
      result.push_back(rms_norm_case(ir::RmsNormGradWeight{kEps}, {x, dy, acc}));
      result.push_back(rms_norm_case(ir::AddRmsNorm{kEps}, {x, dy, w}));
    }
  }
  return result;
}

Cases gather_cases() {
  Cases result;
  for (const ir::Kind kind : {kF32, kBf16}) {
    for (const std::int64_t tokens : {1, 7, 300, 0}) {
      for (const std::int64_t columns : {1, 17, 64, 160}) {
        result.push_back(embedding_case(tokens, 11, columns, kind));
        result.push_back(embedding_grad_case(tokens, 11, columns, kind));
      }
    }
    for (const bool inverse : {false, true}) {
      for (const Dims& dims :
           std::vector<Dims>{{1, 1, 2}, {5, 3, 16}, {70, 9, 64}, {3, 2, 22}, {0, 1, 4}}) {
        result.push_back(rope_case(dims, inverse, kind));
      }
    }
  }
  for (const std::int64_t positions : {1, 7, 60}) {
    result.push_back(rope_table_case({.positions = positions, .dim = 2}));
    result.push_back(rope_table_case({.positions = positions, .dim = 64, .theta = 500000}));
    result.push_back(rope_table_case(
        {.positions = positions, .dim = 8, .scaling = ir::RopeScaling::linear, .factor = 4}));
    result.push_back(rope_table_case({.positions = positions,
                                      .dim = 32,
                                      .scaling = ir::RopeScaling::by_wavelength,
                                      .factor = 8,
                                      .low_frequency = 1,
                                      .high_frequency = 4,
                                      .original_positions = 64}));
  }
  return result;
}

}  // namespace parhelion::test
