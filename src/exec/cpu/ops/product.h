#pragma once

#include "exec/cpu/candidate.h"
#include "exec/cpu/kernels/matmul.h"

namespace parhelion::exec::cpu {

/// Bytes of workspace for a product whose addresses are still missing.
std::int64_t product_workspace_bytes(const MatmulArgs& args);

/// Runs a planned product on these addresses.
void run_product(MatmulArgs args, const void* a, const void* b, void* c,
                 std::span<std::byte> workspace);

/// The bits of an op whose first two inputs are multiplied.
std::string product_numerics(const OpView& op, const Device& device);

}  // namespace parhelion::exec::cpu
