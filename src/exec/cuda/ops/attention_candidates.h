#pragma once

#include "exec/cuda/candidate.h"
#include "exec/cuda/cudnn/attention_plans.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace parhelion::exec::cuda {

/// Why cuDNN cannot take a head of `q`, [tokens, heads, d], on the device; empty if it may.
std::string_view cudnn_attention_refusal(const ir::TensorType& q, const Device& device);

/// The graph of `form`; null if cuDNN has none.
const AttentionGraph* find_attention(const Device& device, const AttentionForm& form);

/// What AttentionGraph::run takes.
cudnnContext* attention_handle(const Device& device);

/// What the bits of packed attention, prefill and folded decode follow from.
std::string cudnn_attention_numerics(const Device& device, std::string_view form);

/// The same for our own kernels, which packed and paged attention share.
std::string_view plain_attention_refusal(const OpView& op, const Device& device);
std::string plain_attention_numerics(const OpView& op, const Device& device);

/// Carves arrays out of workspace, each aligned to 256. Without memory it only counts.
class WorkspaceCursor {
 public:
  explicit WorkspaceCursor(std::byte* workspace) : workspace_(workspace) {}

  std::byte* take(std::int64_t bytes);
  std::int32_t* integers(std::int64_t count);
  std::int64_t bytes() const { return used_; }

 private:
  std::byte* workspace_;
  std::int64_t used_ = 0;
};

}  // namespace parhelion::exec::cuda
