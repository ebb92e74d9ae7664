#include "exec/cpu/cpu_plan.h"

#include "base/error.h"
#include "exec/parameters.h"

#include <algorithm>

namespace parhelion::exec::cpu {
namespace {

bool is_own(const ir::Buffer& buffer) {
  return buffer.role == ir::Role::input || buffer.role == ir::Role::output;
}

struct Choice {
  Candidate candidate;
  StepReport report;
};

/// The first candidate that accepts, with the refusals before it.
Choice choose(const OpView& op, const Device& device) {
  StepReport report;
  for (const Candidate& candidate : candidates(op.node.op)) {
    const std::string_view reason = candidate.refuses(op, device);
    if (reason.empty()) {
      report.kernel = candidate.name;
      report.numerics = candidate.numerics(op, device);
      return {candidate, std::move(report)};
    }
    report.refusals.push_back(fmt::format("{}: {}", candidate.name, reason));
  }
  fail(ErrorKind::unsupported, "cpu: no kernel accepts {}: {}", to_string(op.node.op),
       fmt::join(report.refusals, "; "));
}

}  // namespace

CpuPlan::CpuPlan(const ir::Program& instance, Weights weights, const Device& device,
                 Buffers& buffers, Arenas& arenas)
    : instance_(instance), memory_(ir::plan_memory(instance)), buffers_(buffers), arenas_(arenas) {
  const auto peak = [&](ir::ArenaKind kind) {
    return memory_.peak_bytes[static_cast<std::size_t>(kind)];
  };
  arenas_.slot.reserve(peak(ir::ArenaKind::slot));
  arenas_.transient.reserve(peak(ir::ArenaKind::transient));
  own_inputs_and_outputs();
  steps_.reserve(instance_.ops.size());
  for (const ir::OpNode& node : instance_.ops) plan_op(node, weights, device);
}

void CpuPlan::own_inputs_and_outputs() {
  for (const ir::Buffer& buffer : instance_.buffers) {
    if (is_own(buffer)) own_.emplace(buffer.name, Memory(ir::byte_count(buffer.type)));
  }
}

void CpuPlan::plan_op(const ir::OpNode& node, Weights weights, const Device& device) {
  const OpView view = view_of(instance_, node, weights);
  Choice choice = choose(view, device);
  Step step{.kernel = choice.candidate.plan(view, device), .inputs = {}, .outputs = {}};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool packed =
        std::ranges::find(choice.candidate.packed, i) != choice.candidate.packed.end();
    step.inputs.push_back(address(node.inputs[i].value, packed ? Form::packed : Form::plain));
  }
  for (const ir::ValueId output : node.outputs)
    step.outputs.push_back(address(output, Form::plain));
  if (node.gate) step.gate = address(node.gate, Form::plain);
  arenas_.workspace.reserve(step.kernel->workspace_bytes);
  choice.report.workspace_bytes = step.kernel->workspace_bytes;
  reports_.push_back(std::move(choice.report));
  steps_.push_back(std::move(step));
}

std::byte* CpuPlan::address(ir::ValueId value, Form form) {
  const ir::BufferId id = instance_.at(value).buffer;
  if (id) {
    const ir::Buffer& buffer = instance_.at(id);
    return is_own(buffer) ? own_.find(buffer.name)->second.data() : buffers_.bind(buffer, form);
  }
  const ir::Range& range = memory_.of_value[value.index - 1];
  const Arena& arena = range.arena == ir::ArenaKind::slot ? arenas_.slot : arenas_.transient;
  return arena.data() + range.offset;
}

std::span<std::byte> CpuPlan::host(std::string_view name) {
  const auto at = own_.find(name);
  ensure(at != own_.end(), ErrorKind::invalid, "plan of '{}': has no input or output '{}'",
         instance_.name, name);
  return at->second.bytes();
}

void CpuPlan::get_ready() {
  if (ready_) return;
  check_parameters(instance_, buffers_);
  buffers_.drop_staging();
  ready_ = true;
}

void CpuPlan::launch(const Step& step) const {
  if (step.gate != nullptr && *step.gate == std::byte{0}) return;
  const auto bytes = static_cast<std::size_t>(step.kernel->workspace_bytes);
  step.kernel->run({.inputs = step.inputs,
                    .outputs = step.outputs,
                    .workspace = {arenas_.workspace.data(), bytes}});
}

void CpuPlan::start() {
  get_ready();
  for (const Step& step : steps_) launch(step);
}

std::vector<std::chrono::nanoseconds> CpuPlan::profile() {
  get_ready();
  std::vector<std::chrono::nanoseconds> times;
  for (const Step& step : steps_) {
    const auto begin = std::chrono::steady_clock::now();
    launch(step);
    times.push_back(std::chrono::steady_clock::now() - begin);
  }
  return times;
}

}  // namespace parhelion::exec::cpu
