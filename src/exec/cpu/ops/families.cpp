#include "exec/cpu/ops/families.h"

#include "exec/cpu/kernels/matmul.h"

#include <variant>

namespace parhelion::exec::cpu {

std::vector<Candidate> candidates(const ir::Op& op) {
  return std::visit([](const auto& each) { return family_candidates(each); }, op);
}

std::string tier_numerics(const OpView& op, const Device&) {
  return std::string(ir::traits(op.node.op).name);
}

std::string_view never_refuses(const OpView&, const Device&) { return {}; }

std::vector<Candidate> one_candidate(std::string_view name,
                                     std::unique_ptr<Kernel> (*plan)(const OpView& op,
                                                                     const Device& device)) {
  return {{.name = name, .refuses = never_refuses, .numerics = tier_numerics, .plan = plan}};
}

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kMatmulAlignment - 1) / kMatmulAlignment * kMatmulAlignment;
}

}  // namespace parhelion::exec::cpu
