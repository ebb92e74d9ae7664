#pragma once

#include "exec/cuda/candidate.h"
#include "ir/memory_plan.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::exec::cuda {

/// Which ops of an instance read each value.
class Uses {
 public:
  explicit Uses(const ir::Program& instance);

  const ir::Program& instance() const { return instance_; }
  /// True if `value` is an activation that only ops of [first, end) read: nobody misses it where
  /// one kernel runs them all.
  bool is_within(ir::ValueId value, std::size_t first, std::size_t end) const;
  /// True if an op of [first, end) gives `value`.
  bool is_made_in(ir::ValueId value, std::size_t first, std::size_t end) const;
  /// The op at an index if it is of family `Op` and has no gate, else null.
  template <class Op>
  const ir::OpNode* find(std::size_t index) const {
    if (index >= instance_.ops.size()) return nullptr;
    const ir::OpNode& node = instance_.ops[index];
    return std::holds_alternative<Op>(node.op) && !node.gate ? &node : nullptr;
  }

 private:
  const ir::Program& instance_;
  std::vector<std::vector<std::size_t>> readers_;  // by value id minus 1, ascending
};

/// One way to run ops of several families that follow each other as one kernel. It has the bits of
/// its ops run one after the other, unless it tells its own numerics.
///
/// The memory plan lets an output lie where an input lay that an earlier op was the last to read.
/// A fusion is used only where no output does; but an output may lie exactly where an input of its
/// type lay that the kernel reads, at each place, before it writes there.
struct Fusion {
  std::string_view name;
  /// The most ops from `first` on, at most `most`, that it runs; 0 = none. What they hand to each
  /// other is within them.
  std::size_t (*match)(const Uses& uses, std::size_t first, std::size_t most);
  std::string_view (*refuses)(std::span<const OpView> ops, const Device& device);
  /// Whether `writer`'s outputs may lie exactly where an input of `reader` of their type lay.
  bool (*in_place)(const ir::OpNode& reader, std::size_t input, const ir::OpNode& writer);
  /// Null: each op has the numerics that it has alone.
  std::string (*numerics)(std::span<const OpView> ops, const Device& device);
  /// Operands stand one op after the other.
  std::unique_ptr<Kernel> (*plan)(std::span<const OpView> ops, const Device& device);
};

/// All of them, in the order in which they are tried.
std::span<const Fusion> all_fusions();

/// Whether memory lets ops [first, first + count) of the instance run as one kernel of `fusion`.
bool fits_memory(const Fusion& fusion, const Uses& uses, const ir::MemoryPlan& memory,
                 std::size_t first, std::size_t count);

/// The place of an op's first operand among those of a fusion.
std::size_t first_input(std::span<const OpView> ops, std::size_t op);
std::size_t first_output(std::span<const OpView> ops, std::size_t op);

}  // namespace parhelion::exec::cuda
