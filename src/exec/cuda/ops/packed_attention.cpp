#include "exec/cuda/ops/packed_attention.h"

#include "exec/cuda/graph_switch.h"
#include "exec/cuda/kernels/attention_layout.h"
#include "exec/cuda/libraries.h"
#include "exec/cuda/ops/attention_candidates.h"
#include "exec/cuda/ops/length_classes.h"

#include <algorithm>
#include <utility>

namespace parhelion::exec::cuda {
namespace {

/// Scores that the ordered gradient keeps are 2 bytes each; below this all documents go at once.
constexpr std::int64_t kOrderedGradLeastBytes = std::int64_t{1} << 30;

static_assert(kMostLengthClasses <= kMostDocumentClasses);
static_assert(kMostSlotChoices <= kMostDocumentChoices);

/// A class of documents with its graphs, of ever more slots.
struct PackedClass {
  LengthClass documents;
  std::vector<std::int64_t> slots;
  std::vector<const AttentionGraph*> graphs;
};

std::vector<LengthClass> classes_of(const PackedOp& op, AttentionUse use) {
  if (use == AttentionUse::ordered_backward) {
    return length_classes(op.tokens, op.documents, op.longest,
                          kOrderedGradLeastBytes / (2 * op.form.query_heads));
  }
  return {{.slots = op.documents, .shortest = 0, .longest = op.longest}};
}

std::vector<PackedClass> packed_classes(const Device& device, const PackedOp& op,
                                        AttentionUse use) {
  std::vector<PackedClass> classes;
  for (const LengthClass& documents : classes_of(op, use)) {
    PackedClass made{documents, slot_choices(documents.slots), {}};
    AttentionForm form = op.form;
    form.use = use;
    form.most_tokens = documents.longest;
    for (const std::int64_t slots : made.slots) {
      form.slots = slots;
      made.graphs.push_back(find_attention(device, form));
    }
    classes.push_back(std::move(made));
  }
  return classes;
}

/// The tensors of the forward or the gradient.
AttentionOperands packed_operands(const PackedOp& op, const LaunchArgs& args) {
  AttentionOperands operands{.q = args.inputs[0], .k = args.inputs[1], .v = args.inputs[2]};
  if (op.indptr == 3) {
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
TailRows packed_tail(const PackedOp& op, const AttentionOperands& operands,
                     const std::int32_t* indptr) {
  const std::int64_t query_bytes = 2 * op.form.query_heads * op.form.d;
  const std::int64_t key_bytes = 2 * op.form.kv_heads * op.form.d;
  TailRows tail{.first = indptr + op.documents, .rows = op.tokens};
  if (operands.dq == nullptr) {
    tail.matrix[0] = operands.o;
    tail.matrix[1] = operands.lse;
    tail.row_bytes[0] = query_bytes;
    tail.row_bytes[1] = 4 * op.form.query_heads;
    return tail;
  }
  tail.matrix[0] = operands.dq;
  tail.matrix[1] = operands.dk;
  tail.matrix[2] = operands.dv;
  tail.row_bytes[0] = query_bytes;
  tail.row_bytes[1] = tail.row_bytes[2] = key_bytes;
  return tail;
}

class PackedKernel final : public Kernel {
 public:
  PackedKernel(const Device& device, const PackedOp& op, std::vector<PackedClass> classes)
      : handle_(attention_handle(device)),
        body_stream_(device.libraries->body_stream()),
        op_(op),
        classes_(std::move(classes)) {
    for (const PackedClass& each : classes_) {
      for (const AttentionGraph* graph : each.graphs)
        graph_bytes_ = std::max(graph_bytes_, graph->workspace_bytes());
    }
    needs_capture = classes_.size() > 1 || classes_.front().graphs.size() > 1;
    WorkspaceCursor cursor(nullptr);
    lay_out(cursor, nullptr);
    workspace_bytes = cursor.bytes();
  }

  void launch(const LaunchArgs& args) override {
    WorkspaceCursor cursor(args.workspace);
    const auto* indptr = args.in<std::int32_t>(op_.indptr);
    auto [layout, memory] = lay_out(cursor, indptr);
    const AttentionOperands operands = packed_operands(op_, args);
    layout.tail = packed_tail(op_, operands, indptr);
    if (needs_capture) give_conditions(layout, args.stream);
    lay_out_documents(layout, args.stream);
    for (std::size_t i = 0; i < classes_.size(); ++i)
      run_class(classes_[i], layout.at[i], operands, memory, args.stream);
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
                          .classes = static_cast<int>(classes_.size()),
                          .at = {},
                          .tail = {}};
    for (std::size_t i = 0; i < classes_.size(); ++i)
      layout.at[i] = take_slots(cursor, classes_[i].documents);
    return {layout, cursor.take(graph_bytes_)};
  }

  static DocumentSlots take_slots(WorkspaceCursor& cursor, const LengthClass& documents) {
    return {.slots = documents.slots,
            .shortest = static_cast<std::int32_t>(documents.shortest),
            .longest = static_cast<std::int32_t>(documents.longest),
            .lengths = cursor.integers(documents.slots),
            .query_offsets = cursor.integers(documents.slots + 1),
            .key_offsets = cursor.integers(documents.slots + 1),
            .lse_offsets = cursor.integers(documents.slots + 1),
            .choices = 0,
            .choice_slots = {},
            .condition = 0};
  }

  void give_conditions(DocumentLayout& layout, cudaStream_t stream) const {
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      DocumentSlots& slots = layout.at[i];
      slots.choices = static_cast<int>(classes_[i].slots.size());
      std::ranges::copy(classes_[i].slots, slots.choice_slots);
      slots.condition = make_condition(stream);
    }
  }

  void run_class(const PackedClass& each, const DocumentSlots& slots, AttentionOperands operands,
                 std::byte* memory, cudaStream_t stream) const {
    operands.query_lengths = operands.key_lengths = slots.lengths;
    operands.query_offsets = slots.query_offsets;
    operands.key_offsets = slots.key_offsets;
    operands.lse_offsets = slots.lse_offsets;
    std::vector<SwitchBody> bodies;
    for (const AttentionGraph* graph : each.graphs) {
      bodies.emplace_back([this, graph, operands, memory](cudaStream_t to) {
        graph->run(handle_, operands, memory, to);
      });
    }
    if (!needs_capture) return bodies.front()(stream);
    capture_switch(stream, body_stream_, slots.condition, bodies);
  }

  cudnnContext* handle_;
  cudaStream_t body_stream_;
  PackedOp op_;
  std::vector<PackedClass> classes_;
  std::int64_t graph_bytes_ = 0;
};

}  // namespace

std::string_view packed_refusal(const OpView& op, const Device& device, const PackedOp& packed,
                                AttentionUse use) {
  const std::string_view refusal = cudnn_attention_refusal(op.inputs[0], device);
  if (!refusal.empty()) return refusal;
  if (packed.documents == 0) return "has no document";
  for (const PackedClass& each : packed_classes(device, packed, use)) {
    if (std::ranges::find(each.graphs, nullptr) != each.graphs.end())
      return "cuDNN has no kernel for this shape";
  }
  return {};
}

std::unique_ptr<Kernel> plan_packed(const Device& device, const PackedOp& op, AttentionUse use) {
  return std::make_unique<PackedKernel>(device, op, packed_classes(device, op, use));
}

}  // namespace parhelion::exec::cuda
