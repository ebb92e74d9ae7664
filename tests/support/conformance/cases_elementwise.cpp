#include "support/conformance/cases.h"
#include "support/conformance/data.h"

namespace parhelion::test {
namespace {

using ElementDims = std::vector<std::int64_t>;

const std::vector<ElementDims> kElementDims = {{}, {1}, {7}, {3, 5}, {2, 4, 16}, {70, 600}, {0, 4}};

Case elementwise_case(const ir::Op& op, std::vector<Wide> inputs, std::int64_t terms = 1) {
  std::string name = to_string(op);
  for (const Wide& input : inputs) name += " " + in_words(input);
  return {.name = std::move(name), .op = op, .inputs = std::move(inputs), .terms = terms};
}

Case fill_case(double value, ir::Kind kind, const ElementDims& dims) {
  return elementwise_case(
      ir::Fill{.value = rounded(kind, value), .kind = kind, .shape = shape_of(dims)}, {});
}

Case reduce_case(ir::ReduceFunction function, const ElementDims& dims, std::int64_t axis) {
  std::int64_t terms = 1;
  for (std::size_t i = static_cast<std::size_t>(axis); i < dims.size(); ++i) terms *= dims[i];
  return elementwise_case(ir::Reduce{function, axis}, {normals(kF32, dims, 1)}, terms);
}

}  // namespace

Cases elementwise_cases() {
  Cases result;
  for (const ElementDims& dims : kElementDims) {
    for (const ir::Kind kind : {kF32, kBf16}) {
      const Wide a = normals(kind, dims, 1, 2), b = normals(kind, dims, 2),
                 c = normals(kind, dims, 3);
      result.push_back(elementwise_case(ir::Swiglu{}, {a, b}));
      result.push_back(elementwise_case(ir::SwigluGrad{}, {a, b, c}));
      result.push_back(elementwise_case(ir::Binary{ir::BinaryFunction::add}, {a, b}));
      result.push_back(elementwise_case(ir::Binary{ir::BinaryFunction::multiply}, {a, b}));
      result.push_back(elementwise_case(ir::Cast{kF32}, {a}));
      result.push_back(elementwise_case(ir::Cast{kBf16}, {a}));
      result.push_back(fill_case(-1.7, kind, dims));
      result.push_back(elementwise_case(ir::Reshape{{a.size(), 1}}, {a}));
    }
  }
  return result;
}

Cases reduce_cases() {
  Cases result;
  const std::vector<std::pair<ElementDims, std::int64_t>> sweep = {
      {{1}, 0},       {{7, 5}, 0},     {{7, 5}, 1},  {{3, 4, 5}, 1},
      {{4, 1000}, 1}, {{20, 3000}, 1}, {{50001}, 0}, {{0, 5}, 1}};
  for (const auto& [dims, axis] : sweep) {
    for (const auto function :
         {ir::ReduceFunction::sum, ir::ReduceFunction::mean, ir::ReduceFunction::max}) {
      result.push_back(reduce_case(function, dims, axis));
    }
  }
  const std::vector<std::pair<ElementDims, ElementDims>> repeats = {
      {{}, {}}, {{}, {3}}, {{4}, {5}}, {{2, 3}, {2, 2}}, {{9}, {700}}, {{0}, {4}}};
  for (const auto& [dims, shape] : repeats) {
    for (const bool mean : {false, true}) {
      result.push_back(elementwise_case(ir::Broadcast{.shape = shape_of(shape), .mean = mean},
                                        {normals(kF32, dims, 1)}));
    }
  }
  for (const ElementDims& dims : std::vector<ElementDims>{{1, 1}, {7, 33}, {300, 64}, {0, 3}}) {
    const double unit = unit_scale(dims[0]);
    for (const ir::Kind kind : {kF32, kBf16}) {
      result.push_back(elementwise_case(ir::AccumulateRows{},
                                        {normals(kind, dims, 1, unit), normals(kF32, {dims[1]}, 2)},
                                        dims[0] + 1));
    }
  }
  return result;
}

}  // namespace parhelion::test
