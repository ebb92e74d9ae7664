#include "exec/cuda/check.h"
#include "exec/cuda/kernels/embedding.h"
#include "exec/cuda/kernels/page_write.h"
#include "exec/cuda/ops/families.h"

namespace parhelion::exec::cuda {

std::vector<Candidate> family_candidates(const ir::Embedding&) {
  return one_candidate("embedding", [](const OpView& op, const Device&) {
    const Embedding args{.kind = op.inputs[1].kind(),
                         .tokens = op.input_dim(0, 0),
                         .vocabulary = op.input_dim(1, 0),
                         .hidden = op.input_dim(1, 1)};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      Embedding bound = args;
      bound.ids = launch.in<std::int32_t>(0);
      bound.table = launch.inputs[1];
      bound.y = launch.outputs[0];
      embedding(bound, launch.stream);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::EmbeddingGrad&) {
  std::vector<Candidate> result =
      one_candidate("embedding_grad", [](const OpView& op, const Device&) {
        const EmbeddingGrad args{.kind = op.inputs[1].kind(),
                                 .tokens = op.input_dim(0, 0),
                                 .vocabulary = op.input_dim(2, 0),
                                 .hidden = op.input_dim(2, 1)};
        const std::int64_t workspace = embedding_grad_workspace(args.tokens, args.vocabulary);
        return make_kernel(workspace, [=](const LaunchArgs& launch) {
          EmbeddingGrad bound = args;
          bound.ids = launch.in<std::int32_t>(0);
          bound.dy = launch.inputs[1];
          bound.acc = launch.out<float>(0);
          bound.gate = launch.gate;
          embedding_grad(bound, launch.workspace, launch.stream);
        });
      });
  result[0].gated = true;
  return result;
}

std::vector<Candidate> family_candidates(const ir::PageWrite&) {
  std::vector<Candidate> result = one_candidate("page_write", [](const OpView& op, const Device&) {
    const PageWrite args{.kind = op.inputs[0].kind(),
                         .tokens = op.input_dim(0, 0),
                         .row = op.input_dim(0, 1) * op.input_dim(0, 2),
                         .capacity = op.input_dim(2, 0) * op.input_dim(2, 1)};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      PageWrite bound = args;
      bound.x = launch.inputs[0];
      bound.location = launch.in<std::int64_t>(1);
      bound.pages = launch.outputs[0];
      bound.gate = launch.gate;
      page_write(bound, launch.stream);
    });
  });
  result[0].gated = true;
  return result;
}

std::vector<Candidate> family_candidates(const ir::Reshape&) {
  return one_candidate("reshape.copy", [](const OpView& op, const Device&) {
    const auto bytes = static_cast<std::size_t>(ir::byte_count(op.outputs[0]));
    return make_kernel(0, [=](const LaunchArgs& launch) {
      if (bytes == 0) return;
      check(cudaMemcpyAsync(launch.outputs[0], launch.inputs[0], bytes, cudaMemcpyDeviceToDevice,
                            launch.stream),
            "reshape.copy");
    });
  });
}

}  // namespace parhelion::exec::cuda
