#include "exec/cuda/kernels/sampling.h"
#include "exec/cuda/ops/families.h"

namespace parhelion::exec::cuda {

std::vector<Candidate> family_candidates(const ir::Sample&) {
  return one_candidate("sample", [](const OpView& op, const Device&) {
    const std::int64_t rows = op.input_dim(0, 0), vocabulary = op.input_dim(0, 1);
    return make_kernel(0, [=](const LaunchArgs& launch) {
      sample({.logits = launch.in<float>(0),
              .temperature = launch.in<float>(1),
              .top_k = launch.in<std::int32_t>(2),
              .top_p = launch.in<float>(3),
              .min_p = launch.in<float>(4),
              .seed = launch.in<std::uint64_t>(5),
              .offset = launch.in<std::uint64_t>(6),
              .ids = launch.out<std::int32_t>(0),
              .log_probability = launch.out<float>(1),
              .rows = rows,
              .vocabulary = vocabulary},
             launch.stream);
    });
  });
}

}  // namespace parhelion::exec::cuda
