#pragma once

#include "exec/cpu/buffers.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace parhelion::exec::cpu {

/// Arenas that plans of one executor share, since they never run together.
struct Arenas {
  Arena slot;
  Arena transient;
  Arena workspace;
};

class CpuPlan final : public Plan {
 public:
  CpuPlan(const ir::Program& instance, Weights weights, const Device& device, Buffers& buffers,
          Arenas& arenas);

  std::span<std::byte> host(std::string_view name) override;
  void start() override;
  void wait() override {}
  std::vector<std::chrono::nanoseconds> profile() override;
  const ir::Program& instance() const override { return instance_; }
  const ir::MemoryPlan& memory() const override { return memory_; }
  std::span<const StepReport> steps() const override { return reports_; }

 private:
  struct Step {
    std::unique_ptr<Kernel> kernel;
    std::vector<std::byte*> inputs;
    std::vector<std::byte*> outputs;
    const std::byte* gate = nullptr;  ///< a bool; null: always
  };

  void own_inputs_and_outputs();
  void plan_op(const ir::OpNode& node, Weights weights, const Device& device);
  std::byte* address(ir::ValueId value, Form form);
  void get_ready();
  void launch(const Step& step) const;

  ir::Program instance_;
  ir::MemoryPlan memory_;
  Buffers& buffers_;
  Arenas& arenas_;
  std::map<std::string, Memory, std::less<>> own_;  // inputs and outputs
  std::vector<Step> steps_;
  std::vector<StepReport> reports_;
  bool ready_ = false;  // every parameter was seen filled
};

}  // namespace parhelion::exec::cpu
