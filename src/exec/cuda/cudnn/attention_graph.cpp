#include "exec/cuda/cudnn/attention_graph.h"

#include "base/error.h"

#include <cudnn_frontend.h>
#include <unordered_map>
#include <utility>
#include <vector>

namespace parhelion::exec::cuda {
namespace {

namespace fe = cudnn_frontend;
using CudnnTensor = std::shared_ptr<fe::graph::Tensor_attributes>;
using Dims = std::vector<std::int64_t>;

/// Names of operands in a graph, which a stored one keeps.
using OperandUid = std::int64_t;
constexpr OperandUid kQ = 1;
constexpr OperandUid kK = 2;
constexpr OperandUid kV = 3;
constexpr OperandUid kO = 4;
constexpr OperandUid kLse = 5;
constexpr OperandUid kOGrad = 6;
constexpr OperandUid kQGrad = 7;
constexpr OperandUid kKGrad = 8;
constexpr OperandUid kVGrad = 9;
constexpr OperandUid kQueryLengths = 10;
constexpr OperandUid kKeyLengths = 11;
constexpr OperandUid kQueryOffsets = 12;
constexpr OperandUid kKeyOffsets = 13;
constexpr OperandUid kLseOffsets = 14;
constexpr OperandUid kPageTable = 15;

/// Dims and strides in cuDNN's order: slot, head, token, element.
struct SlotLayout {
  Dims dim;
  Dims stride;
};

SlotLayout packed_layout(std::int64_t slots, std::int64_t heads, std::int64_t most_tokens,
                         std::int64_t d) {
  return {{slots, heads, most_tokens, d}, {most_tokens * heads * d, d, heads * d, 1}};
}

SlotLayout query_layout(const AttentionForm& form) {
  if (form.use != AttentionUse::folded)
    return packed_layout(form.slots, form.query_heads, form.most_tokens, form.d);
  const std::int64_t group = form.query_heads / form.kv_heads;
  return {{form.slots, form.kv_heads, group, form.d},
          {form.query_heads * form.d, group * form.d, form.d, 1}};
}

/// Adds operands to a graph.
struct GraphBuilder {
  fe::graph::Graph& graph;
  const AttentionForm& form;

  CudnnTensor add(OperandUid uid, const SlotLayout& layout,
                  fe::DataType_t type = fe::DataType_t::BFLOAT16) const {
    return graph.tensor(fe::graph::Tensor_attributes()
                            .set_uid(uid)
                            .set_dim(layout.dim)
                            .set_stride(layout.stride)
                            .set_data_type(type));
  }
  CudnnTensor integers(OperandUid uid, std::int64_t count) const {
    return add(uid, {{count, 1, 1, 1}, {1, 1, 1, 1}}, fe::DataType_t::INT32);
  }
  CudnnTensor offsets(OperandUid uid) const { return integers(uid, form.slots + 1); }

  static void as_output(const CudnnTensor& tensor, OperandUid uid, const SlotLayout& layout,
                        const CudnnTensor& offsets,
                        fe::DataType_t type = fe::DataType_t::BFLOAT16) {
    tensor->set_output(true)
        .set_uid(uid)
        .set_dim(layout.dim)
        .set_stride(layout.stride)
        .set_data_type(type)
        .set_ragged_offset(offsets);
  }
  /// Scale, lengths and the causal band; `corner` is where the diagonal ends.
  template <class Options>
  void set_options(Options& options, fe::DiagonalAlignment_t corner) const {
    options.set_attn_scale(static_cast<float>(form.scale))
        .set_padding_mask(true)
        .set_seq_len_q(integers(kQueryLengths, form.slots))
        .set_seq_len_kv(integers(kKeyLengths, form.slots))
        .set_diagonal_alignment(corner)
        .set_diagonal_band_right_bound(0);
    if (form.window > 0) options.set_diagonal_band_left_bound(static_cast<int>(form.window));
  }
};

SlotLayout lse_layout(const AttentionForm& form) {
  return {{form.slots, form.query_heads, form.most_tokens, 1},
          {form.most_tokens * form.query_heads, 1, form.query_heads, 1}};
}

void describe_forward(const GraphBuilder& builder) {
  const AttentionForm& form = builder.form;
  const SlotLayout query = query_layout(form);
  const SlotLayout key = packed_layout(form.slots, form.kv_heads, form.most_tokens, form.d);
  const CudnnTensor q = builder.add(kQ, query);
  const CudnnTensor k = builder.add(kK, key);
  const CudnnTensor v = builder.add(kV, key);
  const CudnnTensor query_offsets = builder.offsets(kQueryOffsets);
  const CudnnTensor key_offsets = builder.offsets(kKeyOffsets);
  q->set_ragged_offset(query_offsets);
  k->set_ragged_offset(key_offsets);
  v->set_ragged_offset(key_offsets);
  auto options = fe::graph::SDPA_attributes().set_name("attention").set_generate_stats(true);
  builder.set_options(options, fe::DiagonalAlignment_t::TOP_LEFT);
  const auto [o, lse] = builder.graph.sdpa(q, k, v, options);
  GraphBuilder::as_output(o, kO, query, query_offsets);
  GraphBuilder::as_output(lse, kLse, lse_layout(form), builder.offsets(kLseOffsets),
                          fe::DataType_t::FLOAT);
}

void describe_backward(const GraphBuilder& builder) {
  const AttentionForm& form = builder.form;
  const SlotLayout query = query_layout(form);
  const SlotLayout key = packed_layout(form.slots, form.kv_heads, form.most_tokens, form.d);
  const CudnnTensor q = builder.add(kQ, query);
  const CudnnTensor k = builder.add(kK, key);
  const CudnnTensor v = builder.add(kV, key);
  const CudnnTensor o = builder.add(kO, query);
  const CudnnTensor d_o = builder.add(kOGrad, query);
  const CudnnTensor lse = builder.add(kLse, lse_layout(form), fe::DataType_t::FLOAT);
  const CudnnTensor query_offsets = builder.offsets(kQueryOffsets);
  const CudnnTensor key_offsets = builder.offsets(kKeyOffsets);
  for (const CudnnTensor& each : {q, o, d_o}) each->set_ragged_offset(query_offsets);
  for (const CudnnTensor& each : {k, v}) each->set_ragged_offset(key_offsets);
  lse->set_ragged_offset(builder.offsets(kLseOffsets));
  auto options = fe::graph::SDPA_backward_attributes()
                     .set_name("attention_grad")
                     .set_deterministic_algorithm(form.use == AttentionUse::ordered_backward)
                     .set_max_total_seq_len_q(form.total_tokens)
                     .set_max_total_seq_len_kv(form.total_tokens);
  builder.set_options(options, fe::DiagonalAlignment_t::TOP_LEFT);
  const auto [dq, dk, dv] = builder.graph.sdpa_backward(q, k, v, o, d_o, lse, options);
  GraphBuilder::as_output(dq, kQGrad, query, query_offsets);
  GraphBuilder::as_output(dk, kKGrad, key, key_offsets);
  GraphBuilder::as_output(dv, kVGrad, key, key_offsets);
}

/// Pages as their op has them: [pages, page_tokens, kv_heads, d].
SlotLayout page_layout(const AttentionForm& form) {
  const std::int64_t token = form.kv_heads * form.d;
  return {{form.pages, form.kv_heads, form.page_tokens, form.d},
          {form.page_tokens * token, form.d, token, 1}};
}

/// One token of one row sees all keys, so only `prefill` and windows need the causal band.
void set_paged_options(const GraphBuilder& builder, fe::graph::SDPA_attributes& options) {
  const AttentionForm& form = builder.form;
  const std::int64_t width = form.pages_per_row;
  const CudnnTensor table = builder.add(
      kPageTable, {{form.slots, 1, width, 1}, {width, width, 1, 1}}, fe::DataType_t::INT32);
  options.set_paged_attention_k_table(table).set_paged_attention_v_table(table);
  options.set_paged_attention_max_seq_len_kv(static_cast<int>(width * form.page_tokens));
  if (form.use == AttentionUse::prefill || form.window > 0) {
    builder.set_options(options, fe::DiagonalAlignment_t::BOTTOM_RIGHT);
    return;
  }
  options.set_attn_scale(static_cast<float>(form.scale))
      .set_padding_mask(true)
      .set_seq_len_q(builder.integers(kQueryLengths, form.slots))
      .set_seq_len_kv(builder.integers(kKeyLengths, form.slots));
}

void describe_paged(const GraphBuilder& builder) {
  const SlotLayout query = query_layout(builder.form);
  const SlotLayout pages = page_layout(builder.form);
  const CudnnTensor q = builder.add(kQ, query);
  const CudnnTensor k = builder.add(kK, pages);
  const CudnnTensor v = builder.add(kV, pages);
  const CudnnTensor query_offsets =
      builder.form.is_dense ? nullptr : builder.offsets(kQueryOffsets);
  q->set_ragged_offset(query_offsets);
  auto options = fe::graph::SDPA_attributes().set_name("paged_attention");
  options.set_generate_stats(false);
  set_paged_options(builder, options);
  const CudnnTensor o = builder.graph.sdpa(q, k, v, options)[0];
  GraphBuilder::as_output(o, kO, query, query_offsets);
}

void describe_graph(const GraphBuilder& builder) {
  switch (builder.form.use) {
    case AttentionUse::forward:
      return describe_forward(builder);
    case AttentionUse::backward:
    case AttentionUse::ordered_backward:
      return describe_backward(builder);
    case AttentionUse::prefill:
    case AttentionUse::folded:
    case AttentionUse::decode:
      return describe_paged(builder);
  }
}

}  // namespace

struct AttentionGraph::State {
  fe::graph::Graph graph;
  std::int64_t workspace_bytes = 0;

  State() {
    graph.set_io_data_type(fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
  }
  bool build(cudnnHandle_t handle) {
    return graph.validate().is_good() && graph.build_operation_graph(handle).is_good() &&
           graph.create_execution_plans({fe::HeurMode_t::A}).is_good() &&
           graph.check_support().is_good() && graph.build_plans().is_good() && measure();
  }
  bool measure() { return graph.get_workspace_size(workspace_bytes).is_good(); }
};

AttentionGraph::AttentionGraph(std::unique_ptr<State> state) : state_(std::move(state)) {}
AttentionGraph::~AttentionGraph() = default;

std::unique_ptr<AttentionGraph> AttentionGraph::build(cudnnContext* handle,
                                                      const AttentionForm& form) {
  auto state = std::make_unique<State>();
  describe_graph({state->graph, form});
  if (!state->build(handle)) return nullptr;
  return std::unique_ptr<AttentionGraph>(new AttentionGraph(std::move(state)));
}

std::unique_ptr<AttentionGraph> AttentionGraph::deserialize(cudnnContext* handle,
                                                            std::string_view bytes) {
  auto state = std::make_unique<State>();
  const std::vector<std::uint8_t> data(bytes.begin(), bytes.end());
  try {
    if (state->graph.deserialize(handle, data).is_bad() || !state->measure()) return nullptr;
  } catch (const std::exception&) {  // the frontend's JSON reader throws on what it cannot read
    return nullptr;
  }
  return std::unique_ptr<AttentionGraph>(new AttentionGraph(std::move(state)));
}

std::string AttentionGraph::serialize() const {
  std::vector<std::uint8_t> bytes;
  if (state_->graph.serialize(bytes, false).is_bad()) return {};
  return {bytes.begin(), bytes.end()};
}

std::int64_t AttentionGraph::workspace_bytes() const { return state_->workspace_bytes; }

void AttentionGraph::run(cudnnContext* handle, const AttentionOperands& operands,
                         std::byte* workspace, cudaStream_t stream) const {
  std::unordered_map<std::int64_t, void*> pack{{kQ, operands.q},
                                               {kK, operands.k},
                                               {kV, operands.v},
                                               {kO, operands.o},
                                               {kLse, operands.lse},
                                               {kOGrad, operands.d_o},
                                               {kQGrad, operands.dq},
                                               {kKGrad, operands.dk},
                                               {kVGrad, operands.dv},
                                               {kQueryLengths, operands.query_lengths},
                                               {kKeyLengths, operands.key_lengths},
                                               {kQueryOffsets, operands.query_offsets},
                                               {kKeyOffsets, operands.key_offsets},
                                               {kLseOffsets, operands.lse_offsets},
                                               {kPageTable, operands.page_table}};
  std::erase_if(pack, [](const auto& entry) { return entry.second == nullptr; });
  const cudnnStatus_t status = cudnnSetStream(handle, stream);
  ensure(status == CUDNN_STATUS_SUCCESS, ErrorKind::device, "cudnnSetStream: {}",
         cudnnGetErrorString(status));
  fe::error_t error = state_->graph.execute(handle, pack, workspace);
  ensure(error.is_good(), ErrorKind::device, "cudnn attention: {}", error.get_message());
}

}  // namespace parhelion::exec::cuda
