#include "exec/cpu/kernels/sampling.h"
#include "exec/cpu/ops/families.h"

namespace parhelion::exec::cpu {

std::vector<Candidate> family_candidates(const ir::Sample&) {
  return one_candidate("sample", [](const OpView& op, const Device& device) {
    const Sampling args{.rows = op.input_dim(0, 0), .vocabulary = op.input_dim(0, 1)};
    const auto scratch =
        static_cast<std::int64_t>(sample_scratch_bytes(args.rows, args.vocabulary, device.threads));
    return make_kernel(scratch, [=](const LaunchArgs& launch) {
      Sampling bound = args;
      bound.logits = launch.in<float>(0);
      bound.temperature = launch.in<float>(1);
      bound.top_k = launch.in<std::int32_t>(2);
      bound.top_p = launch.in<float>(3);
      bound.min_p = launch.in<float>(4);
      bound.seed = launch.in<std::uint64_t>(5);
      bound.offset = launch.in<std::uint64_t>(6);
      bound.ids = launch.out<std::int32_t>(0);
      bound.log_probability = launch.out<float>(1);
      sample(bound, launch.workspace.data(), device.threads);
    });
  });
}

}  // namespace parhelion::exec::cpu
