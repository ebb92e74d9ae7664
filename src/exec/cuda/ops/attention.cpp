#include "exec/cuda/kernels/attention_layout.h"
#include "exec/cuda/kernels/attention_plain.h"
#include "exec/cuda/ops/attention_candidates.h"
#include "exec/cuda/ops/families.h"
#include "exec/cuda/ops/length_classes.h"

#include <algorithm>
#include <utility>

namespace parhelion::exec::cuda {
namespace {

/// The two ops of packed documents, which differ in where document_indptr stands.
struct PackedOp {
  std::int64_t tokens = 0;
  std::int64_t documents = 0;
  std::int64_t longest = 0;
  std::size_t indptr = 0;
  AttentionForm form;  ///< without use and slots
};

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

/// Scores that the ordered gradient keeps are 2 bytes each; below this all documents go at once.
constexpr std::int64_t kOrderedGradLeastBytes = std::int64_t{1} << 30;

static_assert(kMostLengthClasses <= kMostDocumentClasses);

/// A class of documents with its graph.
struct PackedCall {
  LengthClass documents;
  const AttentionGraph* graph = nullptr;
};

std::vector<PackedCall> packed_calls(const Device& device, const PackedOp& op, AttentionUse use) {
  std::vector<LengthClass> classes = {
      {.slots = op.documents, .shortest = 0, .longest = op.longest}};
  if (use == AttentionUse::ordered_backward) {
    classes = length_classes(op.tokens, op.documents, op.longest,
                             kOrderedGradLeastBytes / (2 * op.form.query_heads));
  }
  std::vector<PackedCall> calls;
  for (const LengthClass& each : classes) {
    AttentionForm form = op.form;
    form.use = use;
    form.slots = each.slots;
    form.most_tokens = each.longest;
    calls.push_back({each, find_attention(device, form)});
  }
  return calls;
}

AttentionUse gradient_use(const Device& device) {
  return device.numerics == Numerics::fast ? AttentionUse::backward
                                           : AttentionUse::ordered_backward;
}

std::string_view packed_refusal(const OpView& op, const Device& device, const PackedOp& packed,
                                AttentionUse use) {
  const std::string_view refusal = cudnn_attention_refusal(op.inputs[0], device);
  if (!refusal.empty()) return refusal;
  if (packed.documents == 0) return "has no document";
  for (const PackedCall& call : packed_calls(device, packed, use))
    if (call.graph == nullptr) return "cuDNN has no kernel for this shape";
  return {};
}

/// Packed attention or its gradient by cuDNN: lays documents out as slots, then runs each class.
class PackedKernel final : public Kernel {
 public:
  PackedKernel(cudnnContext* handle, PackedOp op, std::vector<PackedCall> calls)
      : handle_(handle), op_(std::move(op)), calls_(std::move(calls)) {
    for (const PackedCall& call : calls_)
      graph_bytes_ = std::max(graph_bytes_, call.graph->workspace_bytes());
    WorkspaceCursor cursor(nullptr);
    lay_out(cursor, nullptr);
    workspace_bytes = cursor.bytes();
  }

  void launch(const LaunchArgs& args) override {
    WorkspaceCursor cursor(args.workspace);
    const auto* indptr = args.in<std::int32_t>(op_.indptr);
    auto [layout, memory] = lay_out(cursor, indptr);
    AttentionOperands operands = operands_of(args);
    layout.tail = tail_of(operands, indptr);
    lay_out_documents(layout, args.stream);
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      operands.query_lengths = operands.key_lengths = layout.at[i].lengths;
      operands.query_offsets = layout.at[i].query_offsets;
      operands.key_offsets = layout.at[i].key_offsets;
      operands.lse_offsets = layout.at[i].lse_offsets;
      calls_[i].graph->run(handle_, operands, memory, args.stream);
    }
  }

 private:
  std::pair<DocumentLayout, std::byte*> lay_out(WorkspaceCursor& cursor,
                                                const std::int32_t* indptr) const {
    const AttentionForm& form = op_.form;
    DocumentLayout layout{.document_indptr = indptr,
                          .documents = op_.documents,
                          .tokens = op_.tokens,
                          .query_token = static_cast<std::int32_t>(form.query_heads * form.d),
                          .key_token = static_cast<std::int32_t>(form.kv_heads * form.d),
                          .lse_token = static_cast<std::int32_t>(form.query_heads),
                          .classes = static_cast<int>(calls_.size()),
                          .at = {},
                          .tail = {}};
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const LengthClass& documents = calls_[i].documents;
      layout.at[i] = {.slots = documents.slots,
                      .shortest = static_cast<std::int32_t>(documents.shortest),
                      .longest = static_cast<std::int32_t>(documents.longest),
                      .lengths = cursor.integers(documents.slots),
                      .query_offsets = cursor.integers(documents.slots + 1),
                      .key_offsets = cursor.integers(documents.slots + 1),
                      .lse_offsets = cursor.integers(documents.slots + 1)};
    }
    return {layout, cursor.take(graph_bytes_)};
  }

  AttentionOperands operands_of(const LaunchArgs& args) const {
    AttentionOperands operands{.q = args.inputs[0], .k = args.inputs[1], .v = args.inputs[2]};
    if (op_.indptr == 3) {
      operands.o = args.outputs[0];
      operands.lse = args.outputs[1];
      return operands;
    }
    operands.o = args.inputs[3];
    operands.lse = args.inputs[4];
    operands.d_o = args.inputs[5];
    operands.dq = args.outputs[0];
    operands.dk = args.outputs[1];
    operands.dv = args.outputs[2];
    return operands;
  }

  /// What padded tokens have of the outputs.
  TailRows tail_of(const AttentionOperands& operands, const std::int32_t* indptr) const {
    const AttentionForm& form = op_.form;
    const std::int64_t query_bytes = 2 * form.query_heads * form.d;
    const std::int64_t key_bytes = 2 * form.kv_heads * form.d;
    TailRows tail{.first = indptr + op_.documents, .rows = op_.tokens};
    if (operands.dq == nullptr) {
      tail.matrix[0] = operands.o;
      tail.matrix[1] = operands.lse;
      tail.row_bytes[0] = query_bytes;
      tail.row_bytes[1] = 4 * form.query_heads;
      return tail;
    }
    tail.matrix[0] = operands.dq;
    tail.matrix[1] = operands.dk;
    tail.matrix[2] = operands.dv;
    tail.row_bytes[0] = query_bytes;
    tail.row_bytes[1] = tail.row_bytes[2] = key_bytes;
    return tail;
  }

  cudnnContext* handle_;
  PackedOp op_;
  std::vector<PackedCall> calls_;
  std::int64_t graph_bytes_ = 0;
};

std::unique_ptr<Kernel> plan_packed(const Device& device, const PackedOp& op, AttentionUse use) {
  return std::make_unique<PackedKernel>(attention_handle(device), op,
                                        packed_calls(device, op, use));
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
