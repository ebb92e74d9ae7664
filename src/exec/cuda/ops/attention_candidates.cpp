#include "exec/cuda/ops/attention_candidates.h"

#include "exec/cuda/kernels/attention_plain.h"
#include "exec/cuda/libraries.h"
#include "exec/cuda/ops/families.h"

#include <fmt/format.h>

#include <cudnn.h>
#include <limits>

namespace parhelion::exec::cuda {

std::string_view cudnn_attention_refusal(const ir::TensorType& q, const Device& device) {
  const std::int64_t d = ir::number(q.shape[2]);
  if (device.compute_capability < 90) return "is for GPUs from compute capability 9.0 on";
  if (q.kind() != ir::Kind::bf16) return "is for bf16";
  if (ir::element_count(q) == 0) return "has nothing to compute";
  if (d % 8 != 0 || (d > 128 && d != 256)) return "head_dim is no multiple of 8 up to 128, nor 256";
  if (ir::element_count(q) > std::numeric_limits<std::int32_t>::max())
    return "has more elements than 32-bit offsets reach";
  return {};
}

const AttentionGraph* find_attention(const Device& device, const AttentionForm& form) {
  return device.libraries->attention_plans(device.name).find(form);
}

cudnnContext* attention_handle(const Device& device) {
  return device.libraries->attention_plans(device.name).handle();
}

std::string cudnn_attention_numerics(const Device& device, std::string_view form) {
  return fmt::format("{} cudnn-{} {}", form, cudnnGetVersion(), device.name);
}

std::string_view plain_attention_refusal(const OpView& op, const Device&) {
  return op.input_dim(0, 2) > kPlainMostColumns ? "head_dim is above 8192" : "";
}

std::string plain_attention_numerics(const OpView&, const Device&) { return "attention plain"; }

std::byte* WorkspaceCursor::take(std::int64_t bytes) {
  std::byte* taken = workspace_ == nullptr ? nullptr : workspace_ + used_;
  used_ += aligned(bytes);
  return taken;
}

std::int32_t* WorkspaceCursor::integers(std::int64_t count) {
  return reinterpret_cast<std::int32_t*>(take(count * std::int64_t{sizeof(std::int32_t)}));
}

}  // namespace parhelion::exec::cuda
