#include "exec/cpu/kernels/copy_pages.h"
#include "exec/cpu/kernels/drawn_tokens.h"
#include "exec/cpu/kernels/edit_logits.h"
#include "exec/cpu/kernels/top_log_probabilities.h"
#include "exec/cpu/ops/families.h"

namespace parhelion::exec::cpu {

std::vector<Candidate> family_candidates(const ir::FeedTokens&) {
  return one_candidate("feed_tokens", [](const OpView& op, const Device&) {
    const FeedTokens args{.tokens = op.input_dim(0, 0), .slots = op.input_dim(2, 0)};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      FeedTokens bound = args;
      bound.ids = launch.in<std::int32_t>(0);
      bound.source = launch.in<std::int32_t>(1);
      bound.drawn = launch.in<std::int32_t>(2);
      bound.y = launch.out<std::int32_t>(0);
      feed_tokens(bound);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::KeepTokens&) {
  return one_candidate("keep_tokens", [](const OpView& op, const Device&) {
    const KeepTokens args{.rows = op.input_dim(0, 0), .slots = op.input_dim(2, 0)};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      KeepTokens bound = args;
      bound.sampled = launch.in<std::int32_t>(0);
      bound.slot = launch.in<std::int32_t>(1);
      bound.drawn = launch.out<std::int32_t>(0);
      keep_tokens(bound);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::CopyPages&) {
  return one_candidate("copy_pages", [](const OpView& op, const Device& device) {
    const CopyPages args{.lanes = op.input_dim(0, 0),
                         .page_count = op.input_dim(2, 0),
                         .page_bytes = ir::page_bytes(op.inputs[2])};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      CopyPages bound = args;
      bound.source = launch.in<std::int32_t>(0);
      bound.destination = launch.in<std::int32_t>(1);
      bound.pages = launch.outputs[0];
      copy_pages(bound, device.threads);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::EditLogits&) {
  return one_candidate("edit_logits", [](const OpView& op, const Device& device) {
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
      edit_logits(bound, device.threads);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::TopLogProbabilities&) {
  return one_candidate("top_log_probabilities", [](const OpView& op, const Device& device) {
    const TopLogProbabilities args{
        .rows = op.input_dim(0, 0), .vocabulary = op.input_dim(0, 1), .count = op.output_dim(0, 1)};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      TopLogProbabilities bound = args;
      bound.logits = launch.in<float>(0);
      bound.ids = launch.out<std::int32_t>(0);
      bound.log_probability = launch.out<float>(1);
      top_log_probabilities(bound, device.threads);
    });
  });
}

}  // namespace parhelion::exec::cpu
