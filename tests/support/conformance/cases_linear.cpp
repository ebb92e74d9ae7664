#include "support/conformance/cases.h"
#include "support/conformance/data.h"
#include "support/reference/evaluate.h"

namespace parhelion::test {
namespace {

struct LinearSize {
  std::int64_t m, n, k;
};

const std::vector<LinearSize> kLinearSizes = {{1, 1, 1},     {1, 7, 3},      {5, 1, 17},
                                              {3, 33, 64},   {8, 64, 256},   {17, 40, 257},
                                              {64, 96, 600}, {130, 70, 300}, {0, 3, 4}};

Case mat_mul_case(const ir::MatMul& op, const LinearSize& size, ir::Kind a_kind, ir::Kind b_kind) {
  const auto [m, n, k] = size;
  const Wide a = op.transpose_a ? normals(a_kind, {k, m}, 1) : normals(a_kind, {m, k}, 1);
  const Wide b = op.transpose_b ? normals(b_kind, {n, k}, 2, unit_scale(k))
                                : normals(b_kind, {k, n}, 2, unit_scale(k));
  Case result{.name = to_string(op) + " " + in_words(a) + " " + in_words(b),
              .op = op,
              .inputs = {a, b},
              .terms = k + 1,
              .weights = {1}};
  if (op.bias) result.inputs.push_back(normals(b_kind, {n}, 3));
  if (op.accumulate) result.inputs.push_back(normals(kF32, {m, n}, 4));
  return result;
}

Wide labels_of(std::int64_t count, std::int64_t vocabulary) {
  Wide labels = indices(count, 0, vocabulary, 5);
  for (std::int64_t t = 1; t < count; t += 3) labels[t] = -100;
  return labels;
}

Case linear_cross_entropy_case(const LinearSize& size, ir::Kind hidden, ir::Kind weight) {
  const auto [tokens, vocabulary, h] = size;
  Case result{
      .name = "linear_cross_entropy",
      .op = ir::LinearCrossEntropy{},
      .inputs = {normals(hidden, {tokens, h}, 1),
                 normals(weight, {vocabulary, h}, 2, unit_scale(h)), labels_of(tokens, vocabulary)},
      .terms = h + vocabulary,
      .weights = {1}};
  result.name += " " + in_words(result.inputs[0]) + " " + in_words(result.inputs[1]);
  return result;
}

/// The gradient of a case, from the reference's own lse.
Case linear_cross_entropy_grad_case(Case forward, bool accumulate) {
  const Wide lse = stored_as_is(evaluate(forward.op, forward.inputs)[1]);
  const std::int64_t tokens = lse.dim(0);
  forward.name.insert(20, accumulate ? "_grad" : "_grad of a fixed head");
  forward.op = ir::LinearCrossEntropyGrad{accumulate};
  forward.inputs.push_back(lse);
  forward.inputs.push_back(normals(kF32, {tokens}, 6, unit_scale(tokens)));
  if (accumulate) {
    forward.inputs.push_back(
        normals(kF32, {forward.inputs[1].dim(0), forward.inputs[1].dim(1)}, 7));
  }
  forward.terms += tokens;
  forward.between = forward.inputs[0].kind();
  return forward;
}

/// The same as one op, which makes the log-sum-exp itself.
Case linear_cross_entropy_step_case(Case gradient) {
  const bool accumulate = std::get<ir::LinearCrossEntropyGrad>(gradient.op).accumulate;
  gradient.name.insert(20, "_step of ");
  gradient.op = ir::LinearCrossEntropyStep{accumulate};
  gradient.inputs.erase(gradient.inputs.begin() + 3);
  return gradient;
}

}  // namespace

Cases mat_mul_cases() {
  Cases result;
  for (const LinearSize& size : kLinearSizes) {
    result.push_back(mat_mul_case({.transpose_b = true}, size, kF32, kF32));
    result.push_back(mat_mul_case({.transpose_b = true, .out = kBf16}, size, kBf16, kBf16));
    result.push_back(mat_mul_case({.transpose_b = true}, size, kF32, kBf16));
  }
  for (const LinearSize& size : {kLinearSizes[1], kLinearSizes[5], kLinearSizes[7]}) {
    for (const ir::Kind kind : {kF32, kBf16}) {
      result.push_back(mat_mul_case({.out = kind}, size, kind, kind));
      result.push_back(mat_mul_case({.transpose_a = true, .out = kind}, size, kind, kind));
      result.push_back(mat_mul_case({.transpose_a = true, .transpose_b = true}, size, kind, kBf16));
      result.push_back(
          mat_mul_case({.transpose_b = true, .bias = true, .out = kind}, size, kind, kind));
      result.push_back(mat_mul_case({.transpose_a = true, .accumulate = true}, size, kind, kind));
    }
  }
  return result;
}

Cases gate_up_cases() {
  Cases result;
  for (const LinearSize& size :
       std::vector<LinearSize>{{1, 5, 3}, {9, 33, 70}, {40, 64, 300}, {0, 3, 4}}) {
    for (const auto& [x_kind, w_kind] : {std::pair{kF32, kF32}, {kBf16, kBf16}, {kF32, kBf16}}) {
      const auto [m, n, k] = size;
      const Wide x = normals(x_kind, {m, k}, 1);
      const Wide gate = normals(w_kind, {n, k}, 2, unit_scale(k));
      result.push_back({.name = "gate_up " + in_words(x) + " " + in_words(gate),
                        .op = ir::GateUp{},
                        .inputs = {x, gate, normals(w_kind, {n, k}, 3, unit_scale(k))},
                        .terms = k,
                        .weights = {1, 2}});
    }
  }
  return result;
}

Cases cross_entropy_cases() {
  Cases result;
  for (const LinearSize& size : std::vector<LinearSize>{
           {1, 1, 8}, {5, 50, 33}, {20, 4100, 16}, {300, 40, 8}, {2, 90004, 8}}) {
    for (const auto& [hidden, weight] : {std::pair{kF32, kF32}, {kBf16, kBf16}, {kF32, kBf16}}) {
      result.push_back(linear_cross_entropy_case(size, hidden, weight));
      const Case forward = result.back();
      for (const bool accumulate : {true, false}) {
        result.push_back(linear_cross_entropy_grad_case(forward, accumulate));
        result.push_back(linear_cross_entropy_step_case(result.back()));
        result.back().weights.clear();
      }
    }
  }
  for (const auto& [rows, columns] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {3, 7}, {5, 4097}, {2, 9000}, {2, 90001}, {2, 170000}, {0, 5}}) {
    const Wide logits = normals(kF32, {rows, columns}, 1, 3);
    result.push_back({.name = "log_probability " + in_words(logits),
                      .op = ir::LogProbability{},
                      .inputs = {logits, indices(rows, -1, columns, 8)},
                      .terms = columns});
  }
  return result;
}

}  // namespace parhelion::test
