#include "exec/cuda/graph_switch.h"
#include "exec/cuda/kernels/attention_layout.h"
#include "exec/cuda/kernels/attention_plain.h"
#include "exec/cuda/libraries.h"
#include "exec/cuda/ops/attention_candidates.h"
#include "exec/cuda/ops/families.h"
#include "exec/cuda/ops/length_classes.h"
#include "exec/cuda/ops/row_layouts.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace parhelion::exec::cuda {
namespace {

static_assert(kMostSlotChoices <= kMostRowChoices);

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

/// Whether rows of one token have a graph of their own, or go with the others.
enum class SingleRows { apart, together };

/// As many tokens as rows are a decode step, by the op's specification.
RowSlotting slotting_of(const PagedOp& op, SingleRows rows) {
  if (rows == SingleRows::together) return RowSlotting::together;
  return op.tokens == op.rows ? RowSlotting::dense : RowSlotting::parted;
}

/// Graphs of a paged attention. Rows of one new token may have their own, which is several times as
/// fast: it reads a group's keys once. Lengths are data, so where a row may have more both run, and
/// each finds the other's rows empty. A library spends time on idle slots, and few rows of a step
/// have several tokens: of those there are graphs of ever more slots, one of which each run takes.
struct PagedGraphs {
  RowSlotting slotting = RowSlotting::together;
  const AttentionGraph* single = nullptr;
  std::vector<std::int64_t> slots;  ///< of each of `several`, ascending
  std::vector<const AttentionGraph*> several;

  bool is_complete() const {
    return (single != nullptr || slotting == RowSlotting::together) &&
           std::ranges::find(several, nullptr) == several.end();
  }
};

/// Folded heads and prefill have the bits of packed training; decode may split keys by the batch.
AttentionUse single_use(const Device& device) {
  return device.numerics == Numerics::fast ? AttentionUse::decode : AttentionUse::folded;
}

PagedGraphs find_graphs(const PagedOp& op, const Device& device, SingleRows rows) {
  PagedGraphs graphs;
  graphs.slotting = slotting_of(op, rows);
  AttentionForm form = op.form;
  if (graphs.slotting != RowSlotting::together) {
    form.use = single_use(device);
    form.most_tokens = 1;
    form.is_dense = graphs.slotting == RowSlotting::dense;
    graphs.single = find_attention(device, form);
  }
  if (graphs.slotting != RowSlotting::dense) {
    form.use = AttentionUse::prefill;
    form.most_tokens = std::max<std::int64_t>(2, std::min(op.tokens, op.room()));
    form.is_dense = false;
    const bool is_parted = graphs.slotting == RowSlotting::parted;
    graphs.slots = is_parted ? slot_choices(op.rows) : std::vector{op.rows};
    for (const std::int64_t slots : graphs.slots) {
      form.slots = slots;
      graphs.several.push_back(find_attention(device, form));
    }
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
  return find_graphs(op, device, rows).is_complete() ? "" : "cuDNN has no kernel for this shape";
}

/// Paged attention by cuDNN: rows of one token and the others, as slots of the layout that the
/// plan's layers share.
class PagedKernel final : public Kernel {
 public:
  PagedKernel(const Device& device, const PagedOp& op, const PagedGraphs& graphs,
              const SharedLayout& rows)
      : handle_(attention_handle(device)),
        body_stream_(device.libraries->body_stream()),
        op_(op),
        graphs_(graphs),
        rows_(rows),
        zeroes_idle_rows_(graphs.slotting == RowSlotting::dense &&
                          single_use(device) == AttentionUse::decode) {
    needs_capture = graphs.several.size() > 1;
    if (graphs.single != nullptr) workspace_bytes = graphs.single->workspace_bytes();
    for (const AttentionGraph* graph : graphs.several)
      workspace_bytes = std::max(workspace_bytes, graph->workspace_bytes());
  }

  /// Rows of one token go first: where they have idle slots, the others write later.
  void launch(const LaunchArgs& args) override {
    if (rows_.is_new) lay_out_rows(layout_from(args), args.stream);
    if (!zeroes_idle_rows_) zero_tail(tail_of(args), args.stream);
    if (graphs_.single != nullptr) run(*graphs_.single, rows_.layout.single, args, args.stream);
    if (!graphs_.several.empty()) run_several(args);
  }

 private:
  RowLayout layout_from(const LaunchArgs& args) const {
    RowLayout layout = rows_.layout;
    layout.page_table = args.in<std::int32_t>(3);
    layout.query_indptr = args.in<std::int32_t>(4);
    layout.kv_length = args.in<std::int32_t>(5);
    return layout;
  }

  TailRows tail_of(const LaunchArgs& args) const {
    TailRows tail{.first = args.in<std::int32_t>(4) + op_.rows, .rows = op_.tokens};
    tail.matrix[0] = args.outputs[0];
    tail.row_bytes[0] = 2 * op_.form.query_heads * op_.form.d;
    return tail;
  }

  void run(const AttentionGraph& graph, const RowSlots& slots, const LaunchArgs& args,
           cudaStream_t stream) const {
    AttentionOperands operands{.q = args.inputs[0],
                               .k = args.inputs[1],
                               .v = args.inputs[2],
                               .o = args.outputs[0],
                               .page_table = slots.table};
    operands.query_lengths = slots.query_lengths;
    operands.key_lengths = slots.key_lengths;
    operands.query_offsets = slots.query_offsets;
    graph.run(handle_, operands, args.workspace, stream);
  }

  void run_several(const LaunchArgs& args) const {
    const RowSlots& slots = rows_.layout.several;
    if (!needs_capture) return run(*graphs_.several.front(), slots, args, args.stream);
    RowChoices of{.choices = static_cast<int>(graphs_.slots.size()), .slots = {}};
    std::ranges::copy(graphs_.slots, of.slots);
    const cudaGraphConditionalHandle condition = make_condition(args.stream);
    choose_rows(rows_.layout.several_count, of, condition, args.stream);
    std::vector<SwitchBody> bodies;
    for (const AttentionGraph* graph : graphs_.several) {
      bodies.emplace_back(
          [this, graph, &slots, &args](cudaStream_t to) { run(*graph, slots, args, to); });
    }
    capture_switch(args.stream, body_stream_, condition, bodies);
  }

  cudnnContext* handle_;
  cudaStream_t body_stream_;
  PagedOp op_;
  PagedGraphs graphs_;
  SharedLayout rows_;
  bool zeroes_idle_rows_;  ///< only `decode` is known to write zeros to slots of length 0
};

PagedRows paged_rows(const OpView& view, const PagedOp& op, const Device& device,
                     RowSlotting slotting) {
  const bool folds = single_use(device) == AttentionUse::folded;
  return {.page_table = view.node.inputs[3].value,
          .query_indptr = view.node.inputs[4].value,
          .kv_length = view.node.inputs[5].value,
          .shape = {.rows = op.rows,
                    .tokens = op.tokens,
                    .pages = op.form.pages,
                    .page_tokens = op.form.page_tokens,
                    .pages_per_row = op.form.pages_per_row,
                    .query_token = static_cast<std::int32_t>(op.form.query_heads * op.form.d),
                    .single_length = static_cast<std::int32_t>(folds ? op.group() : 1),
                    .slotting = slotting}};
}

std::unique_ptr<Kernel> plan_paged_cudnn(const OpView& view, const Device& device,
                                         SingleRows rows) {
  const PagedOp op = paged_op(view);
  const PagedGraphs graphs = find_graphs(op, device, rows);
  const PagedRows shared = paged_rows(view, op, device, graphs.slotting);
  return std::make_unique<PagedKernel>(device, op, graphs, device.row_layouts->find(shared));
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
