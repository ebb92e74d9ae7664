#include "exec/cuda/kernels/drawn_tokens.h"
#include "exec/cuda/kernels/edit_logits.h"
#include "exec/cuda/kernels/top_log_probabilities.h"
#include "exec/cuda/ops/families.h"

namespace parhelion::exec::cuda {

std::vector<Candidate> family_candidates(const ir::FeedTokens&) {
  return one_candidate("feed_tokens", [](const OpView& op, const Device&) {
    const std::int64_t tokens = op.input_dim(0, 0), slots = op.input_dim(2, 0);
    return make_kernel(0, [=](const LaunchArgs& launch) {
      feed_tokens({.ids = launch.in<std::int32_t>(0),
                   .source = launch.in<std::int32_t>(1),
                   .drawn = launch.in<std::int32_t>(2),
                   .y = launch.out<std::int32_t>(0),
                   .tokens = tokens,
                   .slots = slots},
                  launch.stream);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::KeepTokens&) {
  std::vector<Candidate> result = one_candidate("keep_tokens", [](const OpView& op, const Device&) {
    const std::int64_t rows = op.input_dim(0, 0), slots = op.input_dim(2, 0);
    return make_kernel(0, [=](const LaunchArgs& launch) {
      keep_tokens({.sampled = launch.in<std::int32_t>(0),
                   .slot = launch.in<std::int32_t>(1),
                   .drawn = launch.out<std::int32_t>(0),
                   .rows = rows,
                   .slots = slots,
                   .gate = launch.gate},
                  launch.stream);
    });
  });
  result[0].gated = true;
  return result;
}

std::vector<Candidate> family_candidates(const ir::EditLogits&) {
  return one_candidate("edit_logits", [](const OpView& op, const Device&) {
    const EditLogits args{
        .rows = op.input_dim(0, 0), .vocabulary = op.input_dim(0, 1), .edits = op.input_dim(2, 0)};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      EditLogits bound = args;
      bound.logits = launch.in<float>(0);
      bound.indptr = launch.in<std::int32_t>(1);
      bound.ids = launch.in<std::int32_t>(2);
      bound.bias = launch.in<float>(3);
      bound.scale = launch.in<float>(4);
      bound.subtract = launch.in<float>(5);
      bound.mask = launch.in<std::int32_t>(6);
      bound.y = launch.out<float>(0);
      edit_logits(bound, launch.stream);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::TopLogProbabilities&) {
  return one_candidate("top_log_probabilities", [](const OpView& op, const Device&) {
    const TopLogProbabilities args{
        .rows = op.input_dim(0, 0), .vocabulary = op.input_dim(0, 1), .count = op.output_dim(0, 1)};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      TopLogProbabilities bound = args;
      bound.logits = launch.in<float>(0);
      bound.ids = launch.out<std::int32_t>(0);
      bound.log_probability = launch.out<float>(1);
      top_log_probabilities(bound, launch.stream);
    });
  });
}

}  // namespace parhelion::exec::cuda
