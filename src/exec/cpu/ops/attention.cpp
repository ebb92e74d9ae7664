#include "exec/cpu/kernels/attention.h"

#include "exec/cpu/kernels/attention_grad.h"
#include "exec/cpu/ops/families.h"

namespace parhelion::exec::cpu {
namespace {

AttentionShape attention_shape(const OpView& op, double scale, std::int64_t window,
                               std::int64_t kv_heads) {
  return {.kind = op.inputs[0].kind(),
          .tokens = op.input_dim(0, 0),
          .query_heads = op.input_dim(0, 1),
          .kv_heads = kv_heads,
          .d = op.input_dim(0, 2),
          .scale = static_cast<float>(scale),
          .window = window};
}

std::int64_t attention_scratch(const AttentionShape& shape, const Device& device) {
  return static_cast<std::int64_t>(attention_scratch_bytes(shape, device.threads));
}

/// q, k and v, which both directions read as their first inputs.
Attention packed_attention(const AttentionShape& shape, const LaunchArgs& launch) {
  const std::int64_t kv_row = shape.kv_heads * shape.d;
  return {.shape = shape,
          .q = launch.inputs[0],
          .k = launch.inputs[1],
          .v = launch.inputs[2],
          .q_stride = shape.query_heads * shape.d,
          .k_stride = kv_row,
          .v_stride = kv_row};
}

}  // namespace

std::vector<Candidate> family_candidates(const ir::Attention&) {
  return one_candidate("attention", [](const OpView& op, const Device& device) {
    const auto& attributes = std::get<ir::Attention>(op.node.op);
    const AttentionShape shape =
        attention_shape(op, attributes.scale, attributes.window, op.input_dim(1, 1));
    const std::int64_t documents = op.input_dim(3, 0) - 1;
    return make_kernel(attention_scratch(shape, device), [=](const LaunchArgs& launch) {
      Attention args = packed_attention(shape, launch);
      args.document_indptr = launch.in<std::int32_t>(3);
      args.documents = documents;
      args.o = launch.outputs[0];
      args.lse = launch.out<float>(1);
      attention(args, launch.workspace.data(), device.threads);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::AttentionGrad&) {
  return one_candidate("attention_grad", [](const OpView& op, const Device& device) {
    const auto& attributes = std::get<ir::AttentionGrad>(op.node.op);
    const AttentionShape shape =
        attention_shape(op, attributes.scale, attributes.window, op.input_dim(1, 1));
    const std::int64_t documents = op.input_dim(6, 0) - 1;
    const auto scratch =
        static_cast<std::int64_t>(attention_grad_scratch_bytes(shape, device.threads));
    return make_kernel(scratch, [=](const LaunchArgs& launch) {
      Attention forward = packed_attention(shape, launch);
      forward.document_indptr = launch.in<std::int32_t>(6);
      forward.documents = documents;
      forward.o = launch.inputs[3];
      forward.lse = reinterpret_cast<float*>(launch.inputs[4]);
      attention_grad({.forward = forward,
                      .d_o = launch.inputs[5],
                      .dq = launch.outputs[0],
                      .dk = launch.outputs[1],
                      .dv = launch.outputs[2]},
                     launch.workspace.data(), device.threads);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::PagedAttention&) {
  return one_candidate("paged_attention", [](const OpView& op, const Device& device) {
    const auto& attributes = std::get<ir::PagedAttention>(op.node.op);
    const AttentionShape shape =
        attention_shape(op, attributes.scale, attributes.window, op.input_dim(1, 2));
    const PagedAttention args{.shape = shape,
                              .q_stride = shape.query_heads * shape.d,
                              .pages = op.input_dim(1, 0),
                              .page_tokens = op.input_dim(1, 1),
                              .pages_per_row = op.input_dim(3, 1),
                              .rows = op.input_dim(3, 0)};
    return make_kernel(attention_scratch(shape, device), [=](const LaunchArgs& launch) {
      PagedAttention bound = args;
      bound.q = launch.inputs[0];
      bound.key_pages = launch.inputs[1];
      bound.value_pages = launch.inputs[2];
      bound.page_table = launch.in<std::int32_t>(3);
      bound.query_indptr = launch.in<std::int32_t>(4);
      bound.kv_length = launch.in<std::int32_t>(5);
      bound.o = launch.outputs[0];
      paged_attention(bound, launch.workspace.data(), device.threads);
    });
  });
}

}  // namespace parhelion::exec::cpu
