#pragma once

#include "ir/program.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace parhelion::exec::cuda {

/// The ops of a layer, as places among those of a fusion. The layer begins with its norm, which may
/// add to the residual, and ends ahead of the next one.
struct ResidentLayerOps {
  std::size_t norm = 0;
  std::size_t q = 0, k = 0, v = 0;
  std::optional<std::size_t> q_norm = {}, k_norm = {};
  std::size_t q_rope = 0, k_rope = 0, key_write = 0, value_write = 0, attention = 0, o = 0;
  std::size_t mlp_norm = 0, gate_up = 0, down = 0;
};

/// Layers of a dense decoder that follow each other, up to the norm behind the last.
struct ResidentOps {
  std::vector<ResidentLayerOps> layers;
  std::size_t last_norm = 0;
};

/// The layers that begin with the first node. Empty where none does.
ResidentOps read_resident_ops(std::span<const ir::OpNode* const> nodes);

}  // namespace parhelion::exec::cuda
