#pragma once

#include "exec/cuda/candidate.h"
#include "exec/cuda/cudnn/attention_plans.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// Lengths of documents, (shortest, longest], that one call takes in `slots` slots.
struct LengthClass {
  std::int64_t slots = 0;
  std::int64_t shortest = 0;
  std::int64_t longest = 0;
  bool operator==(const LengthClass&) const = default;
};

/// Parts documents of at most `longest` tokens, `tokens` together, so that slots * longest *
/// longest of each class stays near 2 * tokens * longest, or below `least`: few documents are long.
/// Longest first; documents within a class are as many as can be.
std::vector<LengthClass> length_classes(std::int64_t tokens, std::int64_t documents,
                                        std::int64_t longest, std::int64_t least);

}  // namespace parhelion::exec::cuda
