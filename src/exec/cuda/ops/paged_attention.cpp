#include "exec/cuda/kernels/attention_layout.h"
#include "exec/cuda/kernels/attention_plain.h"
#include "exec/cuda/ops/attention_candidates.h"
#include "exec/cuda/ops/families.h"

#include <algorithm>
#include <limits>

namespace parhelion::exec::cuda {
namespace {

struct PagedOp {
  std::int64_t tokens = 0;
  std::int64_t rows = 0;
  AttentionForm form;  ///< without use and most_tokens

  std::int64_t group() const { return form.query_heads / form.kv_heads; }
  std::int64_t room() const { return form.pages_per_row * form.page_tokens; }
};

PagedOp paged_op(const OpView& op) {
  const auto& attributes = std::get<ir::PagedAttention>(op.node.op);
  return {.tokens = op.input_dim(0, 0),
          .rows = op.input_dim(3, 0),
          .form = {.slots = op.input_dim(3, 0),
                   .query_heads = op.input_dim(0, 1),
                   .kv_heads = op.input_dim(1, 2),
                   .d = op.input_dim(0, 2),
                   .scale = attributes.scale,
                   .window = attributes.window,
                   .pages = op.input_dim(1, 0),
                   .page_tokens = op.input_dim(1, 1),
                   .pages_per_row = op.input_dim(3, 1)}};
}

/// Graphs of a paged attention. Rows of one new token may have their own, which is several times as
/// fast: it reads a group's keys once. Lengths are data, so where a row may have more both run, and
/// each finds the other's rows empty.
struct PagedGraphs {
  const AttentionGraph* single = nullptr;
  const AttentionGraph* several = nullptr;
};

/// Whether rows of one token have a graph of their own, or go with the others.
enum class SingleRows { apart, together };

/// Folded heads and prefill have the bits of packed training; decode may split keys by the batch.
AttentionUse single_use(const Device& device) {
  return device.numerics == Numerics::fast ? AttentionUse::decode : AttentionUse::folded;
}

PagedGraphs find_graphs(const PagedOp& op, const Device& device, SingleRows rows) {
  PagedGraphs graphs;
  AttentionForm form = op.form;
  if (rows == SingleRows::apart) {
    form.use = single_use(device);
    form.most_tokens = 1;
    graphs.single = find_attention(device, form);
  }
  if (rows == SingleRows::together || op.tokens > 1) {
    form.use = AttentionUse::prefill;
    form.most_tokens = std::max<std::int64_t>(2, std::min(op.tokens, op.room()));
    graphs.several = find_attention(device, form);
  }
  return graphs;
}

/// A window is a band over tokens, which folded heads are not; and without a group nothing folds.
/// Idle slots need a token to point at, hence no more rows than tokens.
std::string_view apart_refusal(const PagedOp& op, const Device& device) {
  if (op.form.window > 0) return "has no window";
  if (op.rows > op.tokens) return "needs a token for each row";
  if (op.group() == 1 && device.numerics != Numerics::fast) return "folds no single head";
  return {};
}

std::string_view paged_refusal(const OpView& view, const Device& device, SingleRows rows) {
  const std::string_view refusal = cudnn_attention_refusal(view.inputs[0], device);
  if (!refusal.empty()) return refusal;
  const PagedOp op = paged_op(view);
  if (op.rows == 0 || op.form.pages == 0 || op.room() == 0) return "has no page";
  if (op.room() > std::numeric_limits<std::int32_t>::max())
    return "has more room in a row than 32-bit lengths reach";
  const bool is_apart = rows == SingleRows::apart;
  if (is_apart && !apart_refusal(op, device).empty()) return apart_refusal(op, device);
  const PagedGraphs graphs = find_graphs(op, device, rows);
  const bool lacks_single = is_apart && graphs.single == nullptr;
  const bool lacks_several = (!is_apart || op.tokens > 1) && graphs.several == nullptr;
  return lacks_single || lacks_several ? "cuDNN has no kernel for this shape" : "";
}

/// Paged attention by cuDNN: lays rows out as slots, then runs rows of one token and the others.
class PagedKernel final : public Kernel {
 public:
  PagedKernel(cudnnContext* handle, const PagedOp& op, const PagedGraphs& graphs,
              std::int64_t single_length)
      : handle_(handle), op_(op), graphs_(graphs), single_length_(single_length) {
    for (const AttentionGraph* graph : {graphs.single, graphs.several})
      if (graph != nullptr) graph_bytes_ = std::max(graph_bytes_, graph->workspace_bytes());
    WorkspaceCursor cursor(nullptr);
    lay_out(cursor);
    cursor.take(graph_bytes_);
    workspace_bytes = cursor.bytes();
  }

  /// Rows of one token go first: where they have idle slots, the others write later.
  void launch(const LaunchArgs& args) override {
    WorkspaceCursor cursor(args.workspace);
    RowLayout layout = lay_out(cursor);
    std::byte* memory = cursor.take(graph_bytes_);
    bind_inputs(layout, args);
    lay_out_rows(layout, args.stream);
    const AttentionOperands operands{.q = args.inputs[0],
                                     .k = args.inputs[1],
                                     .v = args.inputs[2],
                                     .o = args.outputs[0],
                                     .page_table = layout.safe_table};
    run(graphs_.single, operands, layout.single, memory, args.stream);
    run(graphs_.several, operands, layout.several, memory, args.stream);
  }

 private:
  RowSlots take_slots(WorkspaceCursor& cursor) const {
    return {.query_lengths = cursor.integers(op_.rows),
            .key_lengths = cursor.integers(op_.rows),
            .query_offsets = cursor.integers(op_.rows + 1)};
  }

  RowLayout lay_out(WorkspaceCursor& cursor) const {
    RowLayout layout{.rows = op_.rows,
                     .tokens = op_.tokens,
                     .pages = op_.form.pages,
                     .page_tokens = op_.form.page_tokens,
                     .pages_per_row = op_.form.pages_per_row,
                     .query_token = static_cast<std::int32_t>(op_.form.query_heads * op_.form.d),
                     .single_length = static_cast<std::int32_t>(single_length_),
                     .single = {},
                     .several = {},
                     .safe_table = cursor.integers(op_.rows * op_.form.pages_per_row),
                     .tail = {}};
    if (graphs_.single != nullptr) layout.single = take_slots(cursor);
    if (graphs_.several != nullptr) layout.several = take_slots(cursor);
    return layout;
  }

  void bind_inputs(RowLayout& layout, const LaunchArgs& args) const {
    layout.page_table = args.in<std::int32_t>(3);
    layout.query_indptr = args.in<std::int32_t>(4);
    layout.kv_length = args.in<std::int32_t>(5);
    layout.tail = {.first = layout.query_indptr + op_.rows, .rows = op_.tokens};
    layout.tail.matrix[0] = args.outputs[0];
    layout.tail.row_bytes[0] = 2 * op_.form.query_heads * op_.form.d;
  }

  void run(const AttentionGraph* graph, AttentionOperands operands, const RowSlots& slots,
           std::byte* memory, cudaStream_t stream) const {
    if (graph == nullptr) return;
    operands.query_lengths = slots.query_lengths;
    operands.key_lengths = slots.key_lengths;
    operands.query_offsets = slots.query_offsets;
    graph->run(handle_, operands, memory, stream);
  }

  cudnnContext* handle_;
  PagedOp op_;
  PagedGraphs graphs_;
  std::int64_t single_length_;
  std::int64_t graph_bytes_ = 0;
};

std::unique_ptr<Kernel> plan_paged_cudnn(const OpView& view, const Device& device,
                                         SingleRows rows) {
  const PagedOp op = paged_op(view);
  const std::int64_t single_length =
      single_use(device) == AttentionUse::folded ? op.group() : std::int64_t{1};
  return std::make_unique<PagedKernel>(attention_handle(device), op, find_graphs(op, device, rows),
                                       single_length);
}

std::unique_ptr<Kernel> plan_paged_plain(const OpView& view, const Device&) {
  const PagedOp op = paged_op(view);
  const PlainPagedAttention planned{.shape = {.kind = view.inputs[0].kind(),
                                              .tokens = op.tokens,
                                              .query_heads = op.form.query_heads,
                                              .kv_heads = op.form.kv_heads,
                                              .d = op.form.d,
                                              .scale = static_cast<float>(op.form.scale),
                                              .window = op.form.window},
                                    .pages = op.form.pages,
                                    .page_tokens = op.form.page_tokens,
                                    .pages_per_row = op.form.pages_per_row,
                                    .rows = op.rows};
  return make_kernel(0, [planned](const LaunchArgs& args) {
    PlainPagedAttention operands = planned;
    operands.q = args.inputs[0];
    operands.key_pages = args.inputs[1];
    operands.value_pages = args.inputs[2];
    operands.page_table = args.in<std::int32_t>(3);
    operands.query_indptr = args.in<std::int32_t>(4);
    operands.kv_length = args.in<std::int32_t>(5);
    operands.o = args.outputs[0];
    plain_paged_attention(operands, args.stream);
  });
}

}  // namespace

std::vector<Candidate> family_candidates(const ir::PagedAttention&) {
  return {
      {.name = "paged_attention.cudnn",
       .refuses = [](const OpView& op,
                     const Device& device) { return paged_refusal(op, device, SingleRows::apart); },
       .numerics =
           [](const OpView&, const Device& device) {
             const bool splits = single_use(device) == AttentionUse::decode;
             return cudnn_attention_numerics(device, splits ? "attention split" : "attention");
           },
       .plan =
           [](const OpView& op, const Device& device) {
             return plan_paged_cudnn(op, device, SingleRows::apart);
           }},
      {.name = "paged_attention.cudnn_prefill",
       .refuses =
           [](const OpView& op, const Device& device) {
             return paged_refusal(op, device, SingleRows::together);
           },
       .numerics =
           [](const OpView&, const Device& device) {
             return cudnn_attention_numerics(device, "attention");
           },
       .plan =
           [](const OpView& op, const Device& device) {
             return plan_paged_cudnn(op, device, SingleRows::together);
           }},
      {.name = "paged_attention.plain",
       .refuses = plain_attention_refusal,
       .numerics = plain_attention_numerics,
       .plan = plan_paged_plain}};
}

}  // namespace parhelion::exec::cuda
