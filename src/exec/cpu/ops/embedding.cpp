#include "exec/cpu/kernels/embedding.h"

#include "exec/cpu/ops/families.h"

namespace parhelion::exec::cpu {

std::vector<Candidate> family_candidates(const ir::Embedding&) {
  return one_candidate("embedding", [](const OpView& op, const Device& device) {
    const Embedding args{.kind = op.inputs[1].kind(),
                         .tokens = op.input_dim(0, 0),
                         .vocabulary = op.input_dim(1, 0),
                         .hidden = op.input_dim(1, 1)};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      Embedding bound = args;
      bound.ids = launch.in<std::int32_t>(0);
      bound.table = launch.inputs[1];
      bound.y = launch.outputs[0];
      embedding(bound, device.threads);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::EmbeddingGrad&) {
  return one_candidate("embedding_grad", [](const OpView& op, const Device& device) {
    const EmbeddingGrad args{.kind = op.inputs[1].kind(),
                             .tokens = op.input_dim(0, 0),
                             .vocabulary = op.input_dim(2, 0),
                             .hidden = op.input_dim(2, 1)};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      EmbeddingGrad bound = args;
      bound.ids = launch.in<std::int32_t>(0);
      bound.dy = launch.inputs[1];
      bound.acc = launch.out<float>(0);
      embedding_grad(bound, device.threads);
    });
  });
}

}  // namespace parhelion::exec::cpu
