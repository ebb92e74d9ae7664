#pragma once

#include "exec/cuda/candidate.h"
#include "exec/cuda/cudnn/attention_graph.h"

#include <cstdint>
#include <memory>
#include <string_view>

namespace parhelion::exec::cuda {

/// Attention over packed documents or its gradient, which differ in where document_indptr stands.
struct PackedOp {
  std::int64_t tokens = 0;
  std::int64_t documents = 0;
  std::int64_t longest = 0;  ///< tokens of a document, at most
  std::size_t indptr = 0;    ///< 3 of the forward, 6 of the gradient
  AttentionForm form;        ///< without use, slots and most_tokens
};

/// Why cuDNN cannot run `packed`, which is `op`; empty if it can.
std::string_view packed_refusal(const OpView& op, const Device& device, const PackedOp& packed,
                                AttentionUse use);

/// `op` by cuDNN: documents become slots of graphs, one for each class of lengths. How many
/// documents live is read on the device, where a switch picks of each class the graph of the fewest
/// slots that hold them; a class without documents costs nothing.
std::unique_ptr<Kernel> plan_packed(const Device& device, const PackedOp& op, AttentionUse use);

}  // namespace parhelion::exec::cuda
