#include "gpu_attention_forms.h"

#include "base/bf16.h"
#include "base/error.h"
#include "exec/cuda/cudnn/attention_graph.h"
#include "exec/cuda/handles.h"

#include <fmt/format.h>

#include "graph_nodes.h"
#include "measure.h"
#include <algorithm>
#include <cudnn.h>

namespace parhelion::bench {
namespace {

using exec::cuda::AttentionForm;
using exec::cuda::AttentionGraph;
using exec::cuda::AttentionOperands;
using exec::cuda::AttentionUse;
using exec::cuda::check;

constexpr std::int64_t kTokens = 16384;
constexpr std::int64_t kQueryHeads = 16;
constexpr std::int64_t kKeyHeads = 8;
constexpr std::int64_t kColumns = 128;
constexpr std::int64_t kMostSlots = 512;

using DeviceMemory = exec::cuda::Handle<void*, cudaFree>;
using CudnnHandle = exec::cuda::Handle<cudnnHandle_t, cudnnDestroy>;

DeviceMemory device_memory(std::int64_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))),
        "cudaMalloc");
  return DeviceMemory(memory);
}

void copy_in(const DeviceMemory& to, const void* from, std::size_t bytes) {
  check(cudaMemcpy(to.get(), from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
}

DeviceMemory random_tokens(std::int64_t heads) {
  std::vector<BFloat16> values(static_cast<std::size_t>(kTokens * heads * kColumns));
  const std::vector<float> normals = normal_floats(1 << 20);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = to_bfloat16(normals[i % normals.size()]);
  const std::size_t bytes = values.size() * sizeof(BFloat16);
  DeviceMemory result = device_memory(static_cast<std::int64_t>(bytes));
  copy_in(result, values.data(), bytes);
  return result;
}

/// Documents of equal length that fill the first slots; the other slots are idle.
struct Live {
  std::int64_t documents = 0;
  std::int64_t length = 0;
};

/// Tensors of kTokens tokens, and slots.
class Operands {
 public:
  AttentionOperands of(std::int64_t slots, Live live) {
    std::vector<std::int32_t> lengths, tokens;
    for (std::int64_t slot = 0; slot < slots; ++slot) {
      lengths.push_back(static_cast<std::int32_t>(slot < live.documents ? live.length : 0));
      tokens.push_back(static_cast<std::int32_t>(std::min(slot, live.documents) * live.length));
    }
    tokens.push_back(static_cast<std::int32_t>(live.documents * live.length));
    copy_in(lengths_, lengths.data(), lengths.size() * sizeof(std::int32_t));
    give_offsets(query_offsets_, tokens, kQueryHeads * kColumns);
    give_offsets(key_offsets_, tokens, kKeyHeads * kColumns);
    give_offsets(lse_offsets_, tokens, kQueryHeads);
    return {.q = q_.get(),
            .k = k_.get(),
            .v = v_.get(),
            .o = o_.get(),
            .lse = lse_.get(),
            .query_lengths = lengths_.get(),
            .key_lengths = lengths_.get(),
            .query_offsets = query_offsets_.get(),
            .key_offsets = key_offsets_.get(),
            .lse_offsets = lse_offsets_.get()};
  }
  void add_gradients(AttentionOperands& operands) const {
    operands.d_o = d_o_.get();
    operands.dq = dq_.get();
    operands.dk = dk_.get();
    operands.dv = dv_.get();
  }

 private:
  static DeviceMemory slots() { return device_memory(4 * (kMostSlots + 1)); }
  static void give_offsets(const DeviceMemory& to, std::vector<std::int32_t> tokens,
                           std::int64_t token) {
    for (std::int32_t& each : tokens) each *= static_cast<std::int32_t>(token);
    copy_in(to, tokens.data(), tokens.size() * sizeof(std::int32_t));
  }

  DeviceMemory q_ = random_tokens(kQueryHeads), k_ = random_tokens(kKeyHeads);
  DeviceMemory v_ = random_tokens(kKeyHeads), o_ = random_tokens(kQueryHeads);
  DeviceMemory d_o_ = random_tokens(kQueryHeads), dq_ = random_tokens(kQueryHeads);
  DeviceMemory dk_ = random_tokens(kKeyHeads), dv_ = random_tokens(kKeyHeads);
  DeviceMemory lse_ = device_memory(4 * kTokens * kQueryHeads);
  DeviceMemory lengths_ = slots(), query_offsets_ = slots();
  DeviceMemory key_offsets_ = slots(), lse_offsets_ = slots();
};

AttentionForm form_of(AttentionUse use, std::int64_t slots, std::int64_t most_tokens) {
  return {.use = use,
          .slots = slots,
          .most_tokens = most_tokens,
          .total_tokens = kTokens,
          .query_heads = kQueryHeads,
          .kv_heads = kKeyHeads,
          .d = kColumns,
          .scale = 0.08838834764831845};
}

void time_form(cudnnHandle_t handle, Operands& operands, const AttentionForm& form, Live live) {
  const auto graph = AttentionGraph::build(handle, form);
  ensure(graph != nullptr, ErrorKind::unsupported, "cuDNN has no kernel for {}", describe(form));
  AttentionOperands given = operands.of(form.slots, live);
  if (form.use != AttentionUse::forward) operands.add_gradients(given);
  const DeviceMemory workspace = device_memory(graph->workspace_bytes());
  const GraphTime time = time_graph([&](cudaStream_t stream) {
    graph->run(handle, given, static_cast<std::byte*>(workspace.get()), stream);
  });
  fmt::print("{:16} {:4} slots of {:5}, {:3} x {:4} live {:9.1f} us, workspace {:7.1f} MiB\n",
             name(form.use), form.slots, form.most_tokens, live.documents, live.length,
             time.microseconds, static_cast<double>(graph->workspace_bytes()) / 1048576);
  for (const NodeTime& node : time.nodes)
    fmt::print("    {:9.1f} us {}\n", node.microseconds, node.what);
}

}  // namespace

void time_attention_forms() {
  cudnnHandle_t made = nullptr;
  ensure(cudnnCreate(&made) == CUDNN_STATUS_SUCCESS, ErrorKind::device, "cudnnCreate failed");
  const CudnnHandle handle(made);
  Operands operands;
  struct Timed {
    AttentionUse use;
    std::int64_t slots, most_tokens;
    Live live;
  };
  using enum AttentionUse;
  const Timed timed[] = {
      {forward, 4, 4096, {4, 4096}},           {forward, 8, 4096, {4, 4096}},
      {forward, 64, 4096, {4, 4096}},          {forward, 512, 4096, {4, 4096}},
      {forward, 64, 256, {64, 256}},           {forward, 512, 4096, {64, 256}},
      {ordered_backward, 4, 4096, {4, 4096}},  {ordered_backward, 7, 4096, {4, 4096}},
      {ordered_backward, 7, 4096, {}},         {ordered_backward, 8, 2048, {8, 2048}},
      {ordered_backward, 31, 2048, {8, 2048}}, {ordered_backward, 31, 2048, {}},
      {ordered_backward, 64, 256, {64, 256}},  {ordered_backward, 512, 512, {64, 256}},
      {ordered_backward, 512, 512, {}},        {backward, 4, 4096, {4, 4096}},
      {backward, 512, 4096, {4, 4096}},        {backward, 512, 4096, {64, 256}},
  };
  // Gradients read the o and lse of whichever documents came before: times do not follow numbers.
  for (const Timed& each : timed)
    time_form(handle.get(), operands, form_of(each.use, each.slots, each.most_tokens), each.live);
}

}  // namespace parhelion::bench
