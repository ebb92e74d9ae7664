#include "support/conformance/cases.h"
#include "support/conformance/data.h"

#include <array>
#include <cmath>

namespace parhelion::test {
namespace {

using UpdateDims = std::vector<std::int64_t>;

const std::vector<UpdateDims> kUpdateDims = {{}, {1}, {7}, {3, 5}, {511, 3}, {70, 600}, {0, 4}};

Wide number(double value) { return filled(kF32, {}, value); }
Wide seed_of(double value) { return filled(ir::Kind::u64, {}, value); }

Wide squares(ir::Kind kind, const UpdateDims& dims, std::uint64_t seed) {
  Wide result = normals(kind, dims, seed);
  for (double& each : result.values) each = rounded(kind, each * each);
  return result;
}

bool draws(const ir::Op& op) {
  const auto* adam = std::get_if<ir::AdamUpdate>(&op);
  const auto* sgd = std::get_if<ir::SgdUpdate>(&op);
  return (adam != nullptr && adam->rounding == ir::Rounding::stochastic) ||
         (sgd != nullptr && sgd->rounding == ir::Rounding::stochastic);
}

Case update_case(const ir::Op& op, std::vector<Wide> inputs, std::int64_t terms = 1) {
  std::string name = to_string(op);
  for (const Wide& input : inputs) name += " " + in_words(input);
  return {.name = std::move(name),
          .op = op,
          .inputs = std::move(inputs),
          .terms = terms,
          .stochastic = draws(op)};
}

/// What an Adam update may keep beside the moments.
struct AdamExtras {
  bool amsgrad = false;
  bool master = false;
};

void add_adam(Cases& result, const UpdateDims& dims, ir::Kind kind, ir::Kind moments,
              AdamExtras extras = {}) {
  for (const bool decoupled : {true, false}) {
    for (const ir::Rounding rounding : {ir::Rounding::nearest, ir::Rounding::stochastic}) {
      const ir::AdamUpdate op{.weight_decay = 0.1,
                              .lr_scale = 0.5,
                              .decoupled = decoupled,
                              .amsgrad = extras.amsgrad,
                              .master = extras.master,
                              .rounding = rounding,
                              .tag = 3};
      std::vector<Wide> inputs = {normals(kind, dims, 1), normals(kF32, dims, 2),
                                  normals(moments, dims, 3), squares(moments, dims, 4)};
      if (op.amsgrad) inputs.push_back(squares(moments, dims, 5));
      if (op.master) inputs.push_back(normals(kF32, dims, 6));
      for (const Wide& each : {number(0.25), number(0.01), listed(kF32, {1.25, 2.5}), seed_of(77)})
        inputs.push_back(each);
      result.push_back(update_case(op, std::move(inputs)));
    }
  }
}

void add_extended_adam(Cases& result, const UpdateDims& dims, ir::Kind moments) {
  add_adam(result, dims, kF32, moments, {.amsgrad = true});
  add_adam(result, dims, kBf16, moments, {.amsgrad = true});
  add_adam(result, dims, kBf16, moments, {.master = true});
  add_adam(result, dims, kBf16, moments, {.amsgrad = true, .master = true});
}

void add_master_sgd(Cases& result, const UpdateDims& dims, double momentum) {
  std::vector<Wide> inputs = {normals(kBf16, dims, 1), normals(kF32, dims, 2)};
  if (momentum != 0) inputs.push_back(normals(kF32, dims, 3));
  for (const Wide& each :
       {normals(kF32, dims, 6), number(0.25), number(0.01), number(1), seed_of(77)})
    inputs.push_back(each);
  result.push_back(update_case(
      ir::SgdUpdate{.momentum = momentum, .weight_decay = 0.1, .master = true}, std::move(inputs)));
}

void add_sgd(Cases& result, const UpdateDims& dims, ir::Kind kind) {
  for (const bool nesterov : {false, true}) {
    result.push_back(update_case(
        ir::SgdUpdate{.momentum = 0.9, .weight_decay = 0.1, .nesterov = nesterov, .tag = 5},
        {normals(kind, dims, 1), normals(kF32, dims, 2), normals(kF32, dims, 3), number(0.25),
         number(0.01), number(1), seed_of(77)}));
  }
  result.push_back(
      update_case(ir::SgdUpdate{.weight_decay = 0.1, .rounding = ir::Rounding::stochastic},
                  {normals(kind, dims, 1), normals(kF32, dims, 2), number(0.25), number(0.01),
                   number(1), seed_of(77)}));
}

}  // namespace

Cases update_cases() {
  Cases result;
  for (const UpdateDims& dims : kUpdateDims) {
    for (const ir::Kind kind : {kF32, kBf16}) {
      add_adam(result, dims, kind, kF32);
      add_sgd(result, dims, kind);
      result.push_back(
          update_case(ir::Accumulate{}, {normals(kind, dims, 1), normals(kF32, dims, 2)}));
      result.push_back(update_case(ir::Scale{.factor = 1.75}, {normals(kind, dims, 1)}));
      result.push_back(update_case(ir::Dropout{.probability = 0.3, .tag = 9},
                                   {normals(kind, dims, 1), seed_of(77)}));
    }
    add_adam(result, dims, kBf16, kBf16);
    for (const ir::Kind moments : {kF32, kBf16}) add_extended_adam(result, dims, moments);
    for (const double momentum : {0.0, 0.9}) add_master_sgd(result, dims, momentum);
    const Wide x = normals(kF32, dims, 1);
    const double unit = unit_scale(std::max<std::int64_t>(x.size(), 1));
    result.push_back(update_case(ir::SquaredNorm{}, {normals(kF32, dims, 1, unit)}, x.size() + 1));
    result.push_back(update_case(ir::Clear{}, {x}));
  }
  for (const auto& [loss, weight, square] :
       std::vector<std::array<double, 3>>{{12, 6, 9}, {12, 6, 1e-6}, {3, 0, 4}, {INFINITY, 6, 9}}) {
    for (const double max_norm : {0.0, 0.25, 5.0}) {
      result.push_back(update_case(ir::StepScale{.max_norm = max_norm},
                                   {number(loss), number(weight), number(square)}));
    }
  }
  return result;
}

}  // namespace parhelion::test
