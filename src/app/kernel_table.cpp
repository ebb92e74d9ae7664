#include "app/kernel_table.h"

#include "exec/kernel_floor.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace parhelion::app {
namespace {

using exec::KernelFloor;

std::string op_range(const KernelFloor& kernel) {
  const std::size_t first = kernel.first_op + 1;
  if (kernel.op_count == 1) return fmt::format("{}", first);
  return fmt::format("{}-{}", first, kernel.first_op + static_cast<std::size_t>(kernel.op_count));
}

std::string kernel_line(const exec::Plan& plan, const KernelFloor& kernel, bool has_times) {
  const exec::StepReport& step = plan.steps()[kernel.first_op];
  const ir::Program& instance = plan.instance();
  std::string text = fmt::format(
      "{:>9} {:<28} {:<30} {:>3} launched {:>12.4g} flops {:>12.4g} bytes ", op_range(kernel),
      step.kernel, step.numerics, kernel.launches, kernel.cost.flops, kernel.cost.bytes);
  if (has_times)
    text += fmt::format("{:>10.2f} us of {:<8} ", kernel.seconds * 1e6, name(kernel.bound));
  return text + fmt::format("{:>10} scratch  {}\n", step.workspace_bytes,
                            instance.labels[instance.ops[kernel.first_op].label]);
}

/// Each reason once: ops of a group are refused for the same ones.
std::string refusal_lines(const exec::Plan& plan, const KernelFloor& kernel) {
  std::string text;
  std::set<std::string_view> seen;
  for (const exec::StepReport& step :
       plan.steps().subspan(kernel.first_op, static_cast<std::size_t>(kernel.op_count))) {
    for (const std::string& refusal : step.refusals)
      if (seen.insert(refusal).second) text += fmt::format("          refused {}\n", refusal);
  }
  return text;
}

/// Kernels of one name.
struct KernelSum {
  std::string name;
  std::int64_t kernels = 0, ops = 0, launches = 0;
  ir::Cost cost = {};
  double seconds = 0;

  void add(const KernelFloor& kernel) {
    ++kernels;
    ops += kernel.op_count;
    launches += kernel.launches;
    cost.flops += kernel.cost.flops;
    cost.bytes += kernel.cost.bytes;
    seconds += kernel.seconds;
  }
};

/// Most time first, then most bytes; all of them last.
std::vector<KernelSum> kernel_sums(const exec::Plan& plan, std::span<const KernelFloor> kernels) {
  std::map<std::string_view, KernelSum> sums;
  KernelSum all{.name = "all"};
  for (const KernelFloor& kernel : kernels) {
    sums[plan.steps()[kernel.first_op].kernel].add(kernel);
    all.add(kernel);
  }
  std::vector<KernelSum> result;
  for (auto& [name, sum] : sums) {
    sum.name = name;
    result.push_back(sum);
  }
  std::ranges::stable_sort(result, [](const KernelSum& a, const KernelSum& b) {
    return std::pair(a.seconds, a.cost.bytes) > std::pair(b.seconds, b.cost.bytes);
  });
  result.push_back(all);
  return result;
}

std::string sum_table(const exec::Plan& plan, std::span<const KernelFloor> kernels,
                      bool has_times) {
  std::string text = fmt::format("{:<28}{:>8}{:>8}{:>10}{:>16}{:>16}{}\n", "by kernel", "kernels",
                                 "ops", "launches", "GFLOP", "MB", has_times ? "    least us" : "");
  for (const KernelSum& sum : kernel_sums(plan, kernels)) {
    text += fmt::format("{:<28}{:>8}{:>8}{:>10}{:>16.6f}{:>16.6f}", sum.name, sum.kernels, sum.ops,
                        sum.launches, sum.cost.flops * 1e-9, sum.cost.bytes * 1e-6);
    if (has_times) text += fmt::format("{:>12.2f}", sum.seconds * 1e6);
    text += "\n";
  }
  return text;
}

}  // namespace

std::string print_roofline(const exec::Roofline& roofline) {
  return fmt::format(
      "measured: copies {:.1f} GB/s, products in f32 {:.3f} and in bf16 {:.3f} TFLOP/s, a launch "
      "{:.2f} us\n",
      roofline.bytes_per_second * 1e-9, roofline.f32_flops_per_second * 1e-12,
      roofline.bf16_flops_per_second * 1e-12, roofline.launch_seconds * 1e6);
}

std::string print_kernels(const exec::Plan& plan, const exec::Roofline* roofline) {
  const std::vector<KernelFloor> kernels = exec::kernel_floors(plan, roofline);
  std::string text = "kernels:\n";
  for (const KernelFloor& kernel : kernels) {
    text += kernel_line(plan, kernel, roofline != nullptr);
    text += refusal_lines(plan, kernel);
  }
  return text + "\n" + sum_table(plan, kernels, roofline != nullptr);
}

}  // namespace parhelion::app
