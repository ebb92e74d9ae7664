#include "exec/cpu/ops/product.h"

namespace parhelion::exec::cpu {

std::int64_t product_workspace_bytes(const MatmulArgs& args) {
  const auto* packed = std::get_if<PackedView>(&args.b);
  const ir::Kind kind = packed != nullptr ? packed->kind : std::get<MatrixView>(args.b).kind;
  const std::int64_t n = packed != nullptr ? packed->n : std::get<MatrixView>(args.b).cols;
  return matmul_workspace_bytes({.m = args.a.rows,
                                 .n = n,
                                 .k = args.a.cols,
                                 .a = args.a.kind,
                                 .b = kind,
                                 .packed = packed != nullptr,
                                 .num_threads = args.num_threads,
                                 .tier = args.tier});
}

void run_product(MatmulArgs args, const void* a, const void* b, void* c,
                 std::span<std::byte> workspace) {
  args.a.data = a;
  std::visit([&](auto& view) { view.data = b; }, args.b);
  args.c.data = c;
  args.workspace = workspace;
  matmul(args);
}

std::string product_numerics(const OpView& op, const Device& device) {
  return std::string(matmul_numerics(device.tier, op.inputs[0].kind(), op.inputs[1].kind()));
}

}  // namespace parhelion::exec::cpu
