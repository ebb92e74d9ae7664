#pragma once

#include "exec/cuda/buffers.h"
#include "exec/cuda/copy_room.h"
#include "exec/cuda/host_block.h"
#include "exec/cuda/ops/row_layouts.h"

#include <memory>
#include <string>
#include <vector>

namespace parhelion::exec::cuda {

/// What plans of one executor share, since they never run together.
struct Arenas {
  explicit Arenas(int ordinal)
      : slot("slot", ordinal),
        transient("activation", ordinal),
        workspace("workspace", ordinal),
        copies(ordinal) {}
  Arena slot;
  Arena transient;
  Arena workspace;
  CopyRoom copies;
};

/// A program whose launches are captured into one graph.
class CudaPlan final : public Plan {
 public:
  CudaPlan(const ir::Program& instance, Weights weights, const Device& device, Buffers& buffers,
           Arenas& arenas, cudaStream_t stream);

  std::span<std::byte> host(std::string_view name) override;
  void start() override;
  void wait() override { outputs_.wait(); }
  std::vector<std::chrono::nanoseconds> profile() override;
  const ir::Program& instance() const override { return instance_; }
  const ir::MemoryPlan& memory() const override { return memory_; }
  std::span<const StepReport> steps() const override { return reports_; }

 private:
  /// One op, or several that one kernel runs.
  struct Step {
    std::unique_ptr<Kernel> kernel;
    std::vector<std::byte*> inputs;
    std::vector<std::byte*> outputs;
    const bool* gate = nullptr;
    std::size_t first_op = 0;
    std::size_t op_count = 1;
  };

  void plan_ops(Weights weights, Device device);
  void add_addresses(Step& step);
  void note_written(ir::ValueId output, std::byte* address);
  std::byte* address(ir::ValueId value);
  cudaStream_t capture_stream(const Device& device) const;
  LaunchArgs args_of(const Step& step, cudaStream_t stream) const;
  /// The graph of some steps; `node_counts` gets how many nodes each adds.
  GraphExec capture(std::span<const Step> steps, cudaStream_t stream,
                    std::vector<std::int64_t>& node_counts) const;
  void report_launches(std::span<const std::int64_t> node_counts);
  void get_ready();

  ir::Program instance_;
  ir::MemoryPlan memory_;
  Buffers& buffers_;
  Arenas& arenas_;
  cudaStream_t stream_;
  HostBlock inputs_;
  HostBlock outputs_;
  RowLayouts row_layouts_;
  std::vector<Step> steps_;
  std::vector<StepReport> reports_;
  std::vector<std::byte*> written_;  // buffers that outlive a run
  GraphExec graph_;
  bool is_ready_ = false;  // every parameter was seen filled
};

}  // namespace parhelion::exec::cuda
