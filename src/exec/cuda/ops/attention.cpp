#include "exec/cuda/kernels/attention_plain.h"
#include "exec/cuda/ops/attention_candidates.h"
#include "exec/cuda/ops/families.h"
#include "exec/cuda/ops/packed_attention.h"

#include <algorithm>

namespace parhelion::exec::cuda {
namespace {

template <class AnyAttention>
PackedOp packed_op(const OpView& op, const AnyAttention& attributes, std::size_t indptr) {
  PackedOp result{.tokens = op.input_dim(0, 0),
                  .documents = op.input_dim(indptr, 0) - 1,
                  .longest = op.input_dim(0, 0),
                  .indptr = indptr,
                  .form = {.total_tokens = op.input_dim(0, 0),
                           .query_heads = op.input_dim(0, 1),
                           .kv_heads = op.input_dim(1, 1),
                           .d = op.input_dim(0, 2),
                           .scale = attributes.scale,
                           .window = attributes.window}};
  if (attributes.longest > 0) result.longest = std::min(result.longest, attributes.longest);
  return result;
}

PackedOp forward_op(const OpView& op) {
  return packed_op(op, std::get<ir::Attention>(op.node.op), 3);
}

PackedOp grad_op(const OpView& op) {
  return packed_op(op, std::get<ir::AttentionGrad>(op.node.op), 6);
}

AttentionUse gradient_use(const Device& device) {
  return device.numerics == Numerics::fast ? AttentionUse::backward
                                           : AttentionUse::ordered_backward;
}

PlainShape plain_shape(const OpView& op, const PackedOp& packed) {
  return {.kind = op.inputs[0].kind(),
          .tokens = packed.tokens,
          .query_heads = packed.form.query_heads,
          .kv_heads = packed.form.kv_heads,
          .d = packed.form.d,
          .scale = static_cast<float>(packed.form.scale),
          .window = packed.form.window};
}

PlainAttention plain_operands(const PlainShape& shape, const PackedOp& packed,
                              const LaunchArgs& args) {
  return {.shape = shape,
          .q = args.inputs[0],
          .k = args.inputs[1],
          .v = args.inputs[2],
          .document_indptr = args.in<std::int32_t>(packed.indptr),
          .documents = packed.documents};
}

std::unique_ptr<Kernel> plan_plain_attention(const OpView& op, const Device&) {
  const PackedOp packed = forward_op(op);
  return make_kernel(0, [packed, shape = plain_shape(op, packed)](const LaunchArgs& args) {
    PlainAttention operands = plain_operands(shape, packed, args);
    operands.o = args.outputs[0];
    operands.lse = args.out<float>(1);
    plain_attention(operands, args.stream);
  });
}

std::unique_ptr<Kernel> plan_plain_grad(const OpView& op, const Device&) {
  const PackedOp packed = grad_op(op);
  const PlainShape shape = plain_shape(op, packed);
  const std::int64_t delta_bytes = aligned(4 * shape.tokens * shape.query_heads);
  return make_kernel(delta_bytes, [packed, shape](const LaunchArgs& args) {
    PlainAttention forward = plain_operands(shape, packed, args);
    forward.o = args.inputs[3];
    forward.lse = reinterpret_cast<float*>(args.inputs[4]);
    plain_attention_grad({.forward = forward,
                          .d_o = args.inputs[5],
                          .dq = args.outputs[0],
                          .dk = args.outputs[1],
                          .dv = args.outputs[2],
                          .delta = reinterpret_cast<float*>(args.workspace)},
                         args.stream);
  });
}

std::string grad_numerics(const OpView&, const Device& device) {
  return cudnn_attention_numerics(
      device, device.numerics == Numerics::fast ? "attention_grad unordered" : "attention_grad");
}

}  // namespace

std::vector<Candidate> family_candidates(const ir::Attention&) {
  return {{.name = "attention.cudnn",
           .refuses =
               [](const OpView& op, const Device& device) {
                 return packed_refusal(op, device, forward_op(op), AttentionUse::forward);
               },
           .numerics =
               [](const OpView&, const Device& device) {
                 return cudnn_attention_numerics(device, "attention");
               },
           .plan =
               [](const OpView& op, const Device& device) {
                 return plan_packed(device, forward_op(op), AttentionUse::forward);
               }},
          {.name = "attention.plain",
           .refuses = plain_attention_refusal,
           .numerics = plain_attention_numerics,
           .plan = plan_plain_attention}};
}

std::vector<Candidate> family_candidates(const ir::AttentionGrad&) {
  return {{.name = "attention_grad.cudnn",
           .refuses =
               [](const OpView& op, const Device& device) {
                 return packed_refusal(op, device, grad_op(op), gradient_use(device));
               },
           .numerics = grad_numerics,
           .plan =
               [](const OpView& op, const Device& device) {
                 return plan_packed(device, grad_op(op), gradient_use(device));
               }},
          {.name = "attention_grad.plain",
           .refuses = plain_attention_refusal,
           .numerics = own_numerics,
           .plan = plan_plain_grad}};
}

}  // namespace parhelion::exec::cuda
