#include "exec/cuda/cuda_plan.h"

#include "base/error.h"
#include "exec/cuda/choose.h"
#include "exec/cuda/graph_switch.h"
#include "exec/cuda/kernels/delay.h"
#include "exec/cuda/libraries.h"
#include "exec/parameters.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace parhelion::exec::cuda {
namespace {

constexpr int kProfileDelayMilliseconds = 5;  // what the host needs to enqueue a step ahead

/// The kernel of a choice.
std::unique_ptr<Kernel> plan_kernel(const Choice& choice, const Device& device) {
  if (choice.ops.size() > 1) return choice.candidate.plan_group(choice.ops, device);
  return choice.candidate.plan(choice.ops.front(), device);
}

}  // namespace

CudaPlan::CudaPlan(const ir::Program& instance, Weights weights, const Device& device,
                   Buffers& buffers, Arenas& arenas, cudaStream_t stream)
    : instance_(instance),
      memory_(ir::plan_memory(instance)),
      buffers_(buffers),
      arenas_(arenas),
      stream_(stream),
      inputs_(instance_, ir::Role::input, MemoryChecks::off),
      outputs_(instance_, ir::Role::output, device.checks) {
  const auto peak = [&](ir::ArenaKind kind) {
    return memory_.peak_bytes[static_cast<std::size_t>(kind)];
  };
  arenas_.slot.reserve(peak(ir::ArenaKind::slot));
  arenas_.transient.reserve(peak(ir::ArenaKind::transient));
  plan_ops(weights, device);
  for (const Step& step : steps_) step.kernel->bind(args_of(step, stream_));
  std::vector<std::int64_t> node_counts;
  graph_ = capture(steps_, capture_stream(device), node_counts);
  report_launches(node_counts);
  check(cudaGraphUpload(graph_.get(), stream_), "cudaGraphUpload");
}

void CudaPlan::plan_ops(Weights weights, Device device) {
  device.row_layouts = &row_layouts_;
  for (Choice& choice : choose_candidates(instance_, memory_, weights, device)) {
    Step step{.kernel = plan_kernel(choice, device),
              .inputs = {},
              .outputs = {},
              .first_op = choice.first,
              .op_count = choice.ops.size()};
    add_addresses(step);
    arenas_.workspace.reserve(step.kernel->workspace_bytes);
    for (StepReport& report : choice.reports) report.op_count = report.launches = 0;
    choice.reports.front().workspace_bytes = step.kernel->workspace_bytes;
    choice.reports.front().op_count = std::ssize(choice.reports);
    for (StepReport& report : choice.reports) reports_.push_back(std::move(report));
    steps_.push_back(std::move(step));
  }
}

void CudaPlan::add_addresses(Step& step) {
  for (std::size_t i = step.first_op; i < step.first_op + step.op_count; ++i) {
    const ir::OpNode& node = instance_.ops[i];
    for (const ir::Operand& operand : node.inputs) step.inputs.push_back(address(operand.value));
    for (const ir::ValueId output : node.outputs) {
      step.outputs.push_back(address(output));
      note_written(output, step.outputs.back());
    }
    if (node.gate) step.gate = reinterpret_cast<const bool*>(address(node.gate));
  }
}

void CudaPlan::note_written(ir::ValueId output, std::byte* address) {
  const ir::BufferId id = instance_.at(output).buffer;
  if (!id) return;
  const ir::Role role = instance_.at(id).role;
  if (role == ir::Role::parameter || role == ir::Role::state) written_.push_back(address);
}

std::byte* CudaPlan::address(ir::ValueId value) {
  const ir::BufferId id = instance_.at(value).buffer;
  if (id) {
    const ir::Buffer& buffer = instance_.at(id);
    if (buffer.role == ir::Role::input) return inputs_.device(buffer.name);
    if (buffer.role == ir::Role::output) return outputs_.device(buffer.name);
    return buffers_.bind(buffer);
  }
  const ir::Range& range = memory_.of_value[value.index - 1];
  const Arena& arena = range.arena == ir::ArenaKind::slot ? arenas_.slot : arenas_.transient;
  return arena.data() + range.offset;
}

/// Dependent launches beside conditional nodes have not been measured, and decode alone needs them.
cudaStream_t CudaPlan::capture_stream(const Device& device) const {
  const bool chooses =
      std::ranges::any_of(steps_, [](const Step& step) { return step.kernel->needs_capture; });
  return chooses ? stream_ : device.libraries->dependent_stream();
}

LaunchArgs CudaPlan::args_of(const Step& step, cudaStream_t stream) const {
  return {.inputs = step.inputs,
          .outputs = step.outputs,
          .workspace = arenas_.workspace.data(),
          .gate = step.gate,
          .stream = stream};
}

GraphExec CudaPlan::capture(std::span<const Step> steps, cudaStream_t stream,
                            std::vector<std::int64_t>& node_counts) const {
  // Relaxed: a kernel's code may be loaded at its first launch.
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  cudaGraph_t captured = nullptr;
  try {
    std::int64_t count = 0;
    for (const Step& step : steps) {
      step.kernel->launch(args_of(step, stream));
      const std::int64_t before = std::exchange(count, captured_nodes(stream));
      node_counts.push_back(count - before);
    }
  } catch (...) {
    cudaStreamEndCapture(stream, &captured);
    const Graph discarded(captured);
    throw;
  }
  check(cudaStreamEndCapture(stream, &captured), "cudaStreamEndCapture");
  const Graph graph(captured);
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph.get(), 0), "cudaGraphInstantiate");
  return GraphExec(executable);
}

void CudaPlan::report_launches(std::span<const std::int64_t> node_counts) {
  for (std::size_t i = 0; i < steps_.size(); ++i)
    reports_[steps_[i].first_op].launches = node_counts[i];
}

std::span<std::byte> CudaPlan::host(std::string_view name) {
  std::span<std::byte> bytes = inputs_.host(name);
  if (bytes.data() == nullptr) bytes = outputs_.host(name);
  ensure(bytes.data() != nullptr, ErrorKind::invalid, "plan of '{}': has no input or output '{}'",
         instance_.name, name);
  return bytes;
}

void CudaPlan::get_ready() {
  if (is_ready_) return;
  check_parameters(instance_, buffers_);
  is_ready_ = true;
}

void CudaPlan::start() {
  get_ready();
  arenas_.copies.order_writes(written_, stream_);
  inputs_.copy_to_device(stream_);
  outputs_.poison(stream_);
  check(cudaGraphLaunch(graph_.get(), stream_), "cudaGraphLaunch");
  outputs_.copy_to_host(stream_);
}

std::vector<std::chrono::nanoseconds> CudaPlan::profile() {
  get_ready();
  inputs_.copy_to_device(stream_);
  std::vector<Event> marks;
  for (std::size_t i = 0; i <= steps_.size(); ++i) marks.push_back(make_timer());
  std::vector<GraphExec> graphs(steps_.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (!steps_[i].kernel->needs_capture) continue;
    std::vector<std::int64_t> node_counts;
    graphs[i] = capture(std::span(steps_).subspan(i, 1), stream_, node_counts);
    check(cudaGraphUpload(graphs[i].get(), stream_), "cudaGraphUpload");
  }
  delay(kProfileDelayMilliseconds, stream_);
  check(cudaEventRecord(marks.front().get(), stream_), "cudaEventRecord");
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (graphs[i]) {
      check(cudaGraphLaunch(graphs[i].get(), stream_), "cudaGraphLaunch");
    } else {
      steps_[i].kernel->launch(args_of(steps_[i], stream_));
    }
    check(cudaEventRecord(marks[i + 1].get(), stream_), "cudaEventRecord");
  }
  outputs_.copy_to_host(stream_);
  outputs_.wait();
  std::vector<std::chrono::nanoseconds> times(instance_.ops.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, marks[i].get(), marks[i + 1].get()), "profile");
    times[steps_[i].first_op] = std::chrono::nanoseconds(std::llround(milliseconds * 1e6f));
  }
  return times;
}

}  // namespace parhelion::exec::cuda
