#include "app/golden.h"

#include "app/weights.h"
#include "ir/element.h"
#include "serve/golden.h"

#include <memory>

namespace parhelion::app {
namespace {

/// How far log-probabilities are apart between processors (docs/prepare.md has what was measured).
constexpr double kToleranceF32 = 0.01;
constexpr double kToleranceBf16 = 0.5;

/// What the model computes in: the element kind of its matrices.
ir::Kind computed_kind(std::span<const contract::WeightView> weights) {
  for (const contract::WeightView& weight : weights)
    if (weight.type.rank() > 1 && weight.type.kind() != ir::Kind::f32) return weight.type.kind();
  return ir::Kind::f32;
}

}  // namespace

contract::Golden run_golden_probes(const contract::Contract& contract,
                                   std::span<const contract::WeightView> weights,
                                   const ExecutorChoice& choice) {
  const std::unique_ptr<exec::Executor> executor = make_executor(choice);
  serve::Engine engine(contract, *executor, {});
  upload_weights(weights, *executor);
  const ir::Kind kind = computed_kind(weights);
  contract::Golden golden =
      serve::record_golden(engine, kind == ir::Kind::f32 ? kToleranceF32 : kToleranceBf16);
  golden.dtype = ir::name(kind);
  golden.numerics = name(contract.target.numerics);
  golden.host = executor->describe();
  return golden;
}

}  // namespace parhelion::app
