#include "exec/cuda/kernels/resident.h"

#include "exec/cuda/check.h"
#include "exec/cuda/device_memory.h"
#include "exec/cuda/driver.h"
#include "exec/cuda/fusions/fusions.h"
#include "exec/cuda/fusions/resident_ops.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace parhelion::exec::cuda {
namespace {

constexpr int kLeastResidentStages = 3;

std::int64_t rows_of_value(const ir::Program& instance, ir::ValueId value) {
  return rows_of(instance.at(value).type);
}

std::vector<const ir::OpNode*> nodes_from(const ir::Program& instance, std::size_t first) {
  std::vector<const ir::OpNode*> nodes;
  for (std::size_t i = first; i < instance.ops.size(); ++i) nodes.push_back(&instance.ops[i]);
  return nodes;
}

/// Whether nobody but the ops reads what they make, besides the last one's outputs.
bool keeps_within(const Uses& uses, std::size_t first, std::size_t end) {
  for (std::size_t i = first; i + 1 < end; ++i) {
    for (const ir::ValueId output : uses.instance().ops[i].outputs)
      if (!uses.instance().at(output).buffer && !uses.is_within(output, first, end)) return false;
  }
  return true;
}

std::size_t match_resident(const Uses& uses, std::size_t first, std::size_t most) {
  const ir::OpNode* norm = uses.find<ir::RmsNorm>(first);
  if (norm == nullptr || rows_of_value(uses.instance(), norm->inputs[0].value) != 1) return 0;
  const ResidentOps ops = read_resident_ops(nodes_from(uses.instance(), first));
  const std::size_t count = ops.last_norm + 1;
  const bool fits = !ops.layers.empty() && count <= most;
  return fits && keeps_within(uses, first, first + count) ? count : 0;
}

ResidentOps ops_of_views(std::span<const OpView> views) {
  std::vector<const ir::OpNode*> nodes;
  for (const OpView& view : views) nodes.push_back(&view.node);
  return read_resident_ops(nodes);
}

/// Sizes of ops whose layers are alike.
ResidentShape shape_of_ops(std::span<const OpView> views, const ResidentOps& ops) {
  const ResidentLayerOps& layer = ops.layers.front();
  return {.hidden = static_cast<int>(views[layer.norm].input_dim(0, 1)),
          .heads = static_cast<int>(views[layer.attention].input_dim(0, 1)),
          .mlp = static_cast<int>(views[layer.gate_up].output_dim(0, 1)),
          .layers = static_cast<int>(ops.layers.size())};
}

double eps_of(const OpView& view) {
  const auto* norm = std::get_if<ir::RmsNorm>(&view.node.op);
  return norm != nullptr ? norm->eps : std::get<ir::AddRmsNorm>(view.node.op).eps;
}

std::string_view refuses_product(const OpView& view) {
  const auto& op = std::get<ir::MatMul>(view.node.op);
  if (op.transpose_a || !op.transpose_b || op.bias || op.accumulate)
    return "a product is not of one weight alone";
  return view.frozen[1] ? "" : "a weight is no frozen parameter";
}

/// Every operand that is a number must be bf16, but for the table of turns.
bool is_all_bf16(std::span<const OpView> views) {
  const auto is_bf16 = [](const ir::TensorType& type) {
    return type.kind() == ir::Kind::bf16 || !ir::is_real(type.kind());
  };
  return std::ranges::all_of(views, [&](const OpView& view) {
    const bool is_rope = std::holds_alternative<ir::Rope>(view.node.op);
    const auto inputs = std::span(view.inputs).first(is_rope ? 2 : view.inputs.size());
    return std::ranges::all_of(inputs, is_bf16) && std::ranges::all_of(view.outputs, is_bf16);
  });
}

/// Whether a layer has the types, attributes and shared operands of the first.
bool is_alike(std::span<const OpView> views, const ResidentLayerOps& first,
              const ResidentLayerOps& layer) {
  const auto input = [&](std::size_t op, std::size_t i) { return views[op].node.inputs[i].value; };
  const auto same_types = [&](std::size_t a, std::size_t b) {
    return views[a].inputs == views[b].inputs && views[a].outputs == views[b].outputs;
  };
  const auto same_eps = [&](const std::optional<std::size_t>& a,
                            const std::optional<std::size_t>& b) {
    return a.has_value() == b.has_value() && (!a || eps_of(views[*a]) == eps_of(views[*b]));
  };
  bool same = same_types(first.q, layer.q) && same_types(first.k, layer.k) &&
              same_types(first.v, layer.v) && same_types(first.attention, layer.attention) &&
              same_types(first.o, layer.o) && same_types(first.gate_up, layer.gate_up) &&
              same_types(first.down, layer.down) && same_eps(first.q_norm, layer.q_norm) &&
              same_eps(first.q_norm, layer.k_norm) && same_eps(first.norm, layer.norm) &&
              same_eps(first.norm, layer.mlp_norm) &&
              views[first.attention].node.op == views[layer.attention].node.op;
  for (const std::size_t rope : {layer.q_rope, layer.k_rope}) {
    same = same && !std::get<ir::Rope>(views[rope].node.op).inverse &&
           input(rope, 1) == input(first.q_rope, 1) && input(rope, 2) == input(first.q_rope, 2);
  }
  for (const std::size_t write : {layer.key_write, layer.value_write})
    same = same && input(write, 1) == input(first.key_write, 1);
  for (const std::size_t i : {3u, 4u, 5u})
    same = same && input(layer.attention, i) == input(first.attention, i);
  return same;
}

std::string_view refuses_heads(std::span<const OpView> views, const ResidentLayerOps& layer) {
  const OpView& attention = views[layer.attention];
  if (std::get<ir::PagedAttention>(attention.node.op).window > 0) return "attention has a window";
  if (attention.input_dim(3, 0) != 1) return "there is not one row";
  if (attention.input_dim(0, 2) != kResidentColumns) return "heads have not 128 columns";
  if (attention.input_dim(1, 2) != kResidentKeyHeads) return "there are not 8 key heads";
  const std::int64_t group = attention.input_dim(0, 1) / kResidentKeyHeads;
  if (group > 8 || !has_resident_group(static_cast<int>(group)))
    return "there is no kernel for so many query heads to a key head";
  if (attention.input_dim(1, 1) % kResidentKeyTile != 0) return "pages are no multiple of 16";
  if (attention.input_dim(3, 1) == 0 || attention.input_dim(1, 0) == 0) return "has no page";
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::int64_t page = attention.input_dim(1, 1);
  const bool fits =
      attention.input_dim(1, 0) <= kMost / page && attention.input_dim(3, 1) <= kMost / page;
  if (!fits) return "pages have more tokens than 32 bits reach";
  return views[layer.q_rope].input_dim(2, 0) > 0 ? "" : "there is no position";
}

std::string_view refuses_sizes(std::span<const OpView> views, const ResidentOps& ops) {
  const ResidentShape shape = shape_of_ops(views, ops);
  for (const int rows : {shape.hidden, shape.mlp}) {
    if (rows % 128 != 0) return "rows are no multiple of 128";
    if (rows < kLeastResidentRows) return "blocks have less than eight rows";
  }
  if (shape.layers > kMostResidentLayers) return "there are more than 64 layers";
  return resident_stages(shape) >= kLeastResidentStages ? "" : "a row does not fit in a block";
}

std::string_view refuses_resident(std::span<const OpView> views, const Device& device) {
  if (device.numerics != Numerics::fast) return "numerics are not fast";
  if (device.multiprocessors < kResidentBlocks) return "there are less than 128 multiprocessors";
  if (!is_all_bf16(views)) return "operands are not bf16";
  const ResidentOps ops = ops_of_views(views);
  for (const ResidentLayerOps& layer : ops.layers) {
    if (!is_alike(views, ops.layers.front(), layer)) return "layers are not alike";
    for (const std::size_t product : {layer.q, layer.k, layer.v, layer.o, layer.down}) {
      const std::string_view reason = refuses_product(views[product]);
      if (!reason.empty()) return reason;
    }
    if (!views[layer.gate_up].frozen[1] || !views[layer.gate_up].frozen[2])
      return "a weight is no frozen parameter";
  }
  if (eps_of(views[ops.last_norm]) != eps_of(views.front())) return "layers are not alike";
  const std::string_view reason = refuses_heads(views, ops.layers.front());
  return reason.empty() ? refuses_sizes(views, ops) : reason;
}

/// A page's place is read and written by one kernel, and x is read by all blocks before one of them
/// writes the last outputs.
bool is_resident_in_place(const ir::OpNode& reader, std::size_t input, const ir::OpNode& writer) {
  const bool is_page = std::holds_alternative<ir::PagedAttention>(reader.op) &&
                       std::holds_alternative<ir::PageWrite>(writer.op);
  const bool is_residual = std::holds_alternative<ir::AddRmsNorm>(writer.op) && input == 0 &&
                           (std::holds_alternative<ir::RmsNorm>(reader.op) ||
                            std::holds_alternative<ir::AddRmsNorm>(reader.op));
  return is_page || is_residual;
}

/// Keys or values as [tokens, heads, columns], in tiles of one head.
TensorMap map_of_pages(const void* pages, std::int64_t tokens) {
  constexpr std::uint64_t kTokenBytes = 2 * kResidentKeyHeads * kResidentColumns;
  const cuuint64_t dims[] = {kResidentColumns, kResidentKeyHeads, static_cast<cuuint64_t>(tokens)};
  const cuuint64_t strides[] = {2 * kResidentColumns, kTokenBytes};
  const cuuint32_t box[] = {kResidentColumns, 1, kResidentKeyTile};
  const cuuint32_t steps[] = {1, 1, 1};
  alignas(64) CUtensorMap map{};
  check(driver().tensor_map(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, const_cast<void*>(pages),
                            dims, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                            CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                            CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "cuTensorMapEncodeTiled");
  static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));
  TensorMap result;
  std::memcpy(&result, &map, sizeof(map));
  return result;
}

/// Finds addresses of operands by op.
class ResidentAddresses {
 public:
  ResidentAddresses(std::span<const std::size_t> firsts, const LaunchArgs& args)
      : firsts_(firsts), args_(args) {}

  template <class T = __nv_bfloat16>
  T* of(std::size_t op, std::size_t input) const {
    return reinterpret_cast<T*>(args_.inputs[firsts_[op] + input]);
  }

 private:
  std::span<const std::size_t> firsts_;
  const LaunchArgs& args_;
};

class ResidentKernel final : public Kernel {
 public:
  explicit ResidentKernel(std::span<const OpView> views)
      : ops_(ops_of_views(views)),
        last_output_(first_output(views, ops_.last_norm)),
        words_(resident_bytes(shape_of_ops(views, ops_))) {
    for (std::size_t op = 0; op < views.size(); ++op) firsts_.push_back(first_input(views, op));
    const ResidentLayerOps& layer = ops_.layers.front();
    const OpView& attention = views[layer.attention];
    step_.shape = shape_of_ops(views, ops_);
    step_.eps = static_cast<float>(eps_of(views[layer.norm]));
    if (layer.q_norm) step_.head_eps = static_cast<float>(eps_of(views[*layer.q_norm]));
    step_.scale = static_cast<float>(std::get<ir::PagedAttention>(attention.node.op).scale);
    step_.row.max_position = static_cast<int>(std::min<std::int64_t>(
        views[layer.q_rope].input_dim(2, 0), std::numeric_limits<int>::max()));
    step_.row.pages = static_cast<int>(attention.input_dim(1, 0));
    step_.row.page_tokens = static_cast<int>(attention.input_dim(1, 1));
    step_.row.pages_per_row = static_cast<int>(attention.input_dim(3, 1));
    step_.stages = resident_stages(step_.shape);
    step_.words = resident_words(step_.shape, words_.data());
  }

  /// Words begin as of no epoch; each launch begins behind the one before it.
  void bind(const LaunchArgs& args) override {
    const ResidentAddresses at(firsts_, args);
    const auto bytes = static_cast<std::size_t>(resident_bytes(step_.shape));
    check(cudaMemsetAsync(words_.data(), 0, bytes, args.stream), "cudaMemsetAsync");
    bind_row(at);
    for (std::size_t i = 0; i < ops_.layers.size(); ++i)
      step_.layers[i] = bound_layer(at, ops_.layers[i]);
    step_.x = at.of<const __nv_bfloat16>(ops_.layers.front().norm, 0);
    step_.last_gain = at.of<const __nv_bfloat16>(ops_.last_norm, 2);
    step_.residual = args.out<__nv_bfloat16>(last_output_);
    step_.normed = args.out<__nv_bfloat16>(last_output_ + 1);
  }

  void launch(const LaunchArgs& args) override { resident_step(step_, args.stream); }

 private:
  void bind_row(const ResidentAddresses& at) {
    const ResidentLayerOps& layer = ops_.layers.front();
    step_.row.positions = at.of<const std::int32_t>(layer.q_rope, 1);
    step_.row.turns = at.of<const float>(layer.q_rope, 2);
    step_.row.location = at.of<const std::int64_t>(layer.key_write, 1);
    step_.row.page_table = at.of<const std::int32_t>(layer.attention, 3);
    step_.row.query_indptr = at.of<const std::int32_t>(layer.attention, 4);
    step_.row.kv_length = at.of<const std::int32_t>(layer.attention, 5);
  }

  ResidentLayer bound_layer(const ResidentAddresses& at, const ResidentLayerOps& ops) const {
    const bool is_first = ops.norm == 0;
    const std::int64_t tokens = std::int64_t{step_.row.pages} * step_.row.page_tokens;
    ResidentLayer layer{};
    layer.q = at.of(ops.q, 1);
    layer.k = at.of(ops.k, 1);
    layer.v = at.of(ops.v, 1);
    layer.o = at.of(ops.o, 1);
    layer.gate = at.of(ops.gate_up, 1);
    layer.up = at.of(ops.gate_up, 2);
    layer.down = at.of(ops.down, 1);
    layer.gain = at.of(ops.norm, is_first ? 1 : 2);
    layer.mlp_gain = at.of(ops.mlp_norm, 2);
    if (ops.q_norm) layer.query_gain = at.of(*ops.q_norm, 1);
    if (ops.k_norm) layer.key_gain = at.of(*ops.k_norm, 1);
    layer.keys = at.of(ops.key_write, 2);
    layer.values = at.of(ops.value_write, 2);
    layer.key_map = map_of_pages(layer.keys, tokens);
    layer.value_map = map_of_pages(layer.values, tokens);
    return layer;
  }

  ResidentOps ops_;
  std::vector<std::size_t> firsts_;  // of each op's inputs
  std::size_t last_output_;
  DeviceMemory words_;
  ResidentStep step_;
};

std::unique_ptr<Kernel> plan_resident(std::span<const OpView> views, const Device&) {
  return std::make_unique<ResidentKernel>(views);
}

}  // namespace

Fusion resident_fusion() {
  return {
      .name = "resident",
      .match = match_resident,
      .refuses = refuses_resident,
      .in_place = is_resident_in_place,
      .numerics = [](std::span<const OpView>, const Device&) { return std::string("resident"); },
      .plan = plan_resident};
}

}  // namespace parhelion::exec::cuda
