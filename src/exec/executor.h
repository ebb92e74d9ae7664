#pragma once

#include "ir/memory_plan.h"
#include "ir/program.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::exec {

/// Whether the parameters that a plan reads change between its runs.
enum class Weights : std::uint8_t {
  frozen,   ///< they are laid out for the kernels once, when uploaded
  trained,  ///< they stay as they are; kernels lay out what they need in each run
};

/// What was decided for one op.
struct StepReport {
  std::string kernel;                 ///< the candidate's name
  std::string numerics;               ///< which bits it gives: same text, same bits
  std::vector<std::string> refusals;  ///< "name: reason" of the candidates before it
  std::int64_t workspace_bytes = 0;
  std::int64_t op_count =
      1;  ///< ops from this one on that its kernel runs; 0: an earlier one's does
  std::int64_t launches = 1;  ///< what its kernel enqueues in each run; of a graph, nodes
};

/// An instance bound to a device: kernels, addresses and workspaces are fixed.
class Plan {
 public:
  virtual ~Plan() = default;

  /// Host bytes of an input or output of this plan. Write inputs before a run, read outputs after
  /// it. Waits until the device has read the inputs, or written the outputs, of the run started
  /// last.
  ///
  /// Errors: invalid if the instance has no such input or output; device if that run failed.
  virtual std::span<std::byte> host(std::string_view name) = 0;

  /// Begins to run every op once; a device goes on by itself. Runs of one executor follow each
  /// other in the order in which they were started. Allocates nothing and chooses nothing.
  ///
  /// Errors: invalid if a parameter was never uploaded.
  /// Threads: one thread uses an executor and its plans.
  virtual void start() = 0;

  /// Returns when the run started last has ended. Errors: device if it failed.
  virtual void wait() = 0;

  /// A run from start to end.
  void run() {
    start();
    wait();
  }

  /// Runs every op once and tells how long each took, in order. For measuring: it allocates and
  /// reads the clock.
  ///
  /// Errors: as run.
  virtual std::vector<std::chrono::nanoseconds> profile() = 0;

  virtual const ir::Program& instance() const = 0;
  virtual const ir::MemoryPlan& memory() const = 0;
  /// One report an op, in order.
  virtual std::span<const StepReport> steps() const = 0;
};

/// An input or output of a plan as its elements.
///
/// Errors: as Plan::host.
template <class T>
std::span<T> host_span(Plan& plan, std::string_view name) {
  const std::span<std::byte> bytes = plan.host(name);
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

/// Buffers as they were at one moment, copied aside on their device.
class KeptBuffers {
 public:
  virtual ~KeptBuffers() = default;
  /// Copies one to `out`, which is as long.
  ///
  /// Errors: invalid if it was not kept; device.
  /// Threads: any one beside the executor's own.
  virtual void copy_out(std::string_view name, std::span<std::byte> out) = 0;
};

/// A device that plans and runs instances, and owns the buffers that outlive a run. Two plans that
/// name a buffer share it.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Binds an instance: views are folded and every dim is a number.
  ///
  /// Errors: unsupported if no kernel accepts an op, with every refusal; invalid if a buffer's type
  /// is not the one that
  ///         an earlier plan gave it, or if a parameter is needed in a form that was not kept when
  ///         it was uploaded.
  virtual std::unique_ptr<Plan> plan(const ir::Program& instance, Weights weights) = 0;

  /// Gives a parameter or state buffer new content: `fill` writes all its bytes, row-major. Call
  /// after planning.
  ///
  /// Errors: invalid if no plan names the buffer.
  virtual void upload(std::string_view name,
                      const std::function<void(std::span<std::byte>)>& fill) = 0;

  /// The bytes of a parameter or state buffer.
  ///
  /// Errors: invalid if no plan names it or its row-major form was not kept.
  virtual std::span<const std::byte> download(std::string_view name) = 0;

  /// Host memory for a snapshot, from which and to which the device copies fast. It may be memory
  /// of an earlier snapshot that nobody holds any more.
  ///
  /// Errors: exhausted if there is not so much memory.
  virtual std::shared_ptr<std::byte> snapshot_memory(std::int64_t bytes) = 0;

  /// Makes memory for later snapshots of so many bytes now, where that takes long: on the host, and
  /// on the device as far as it has that much to spare.
  ///
  /// Errors: as snapshot_memory.
  virtual void prepare_snapshots(std::int64_t) {}

  /// Copies buffers aside as they are when all runs started so far have ended; runs that write them
  /// wait for that alone. None if there is no room for it on the device, which only
  /// `prepare_snapshots` makes, or if what was kept before is still held. The executor outlives it.
  ///
  /// Errors: as download.
  virtual std::unique_ptr<KeptBuffers> keep(std::span<const std::string>) { return nullptr; }

  /// Copies a parameter or state buffer to `out`, which is as long.
  ///
  /// Errors: as download.
  /// Threads: any one beside the executor's own, while plans run that only read the buffer.
  virtual void copy_out(std::string_view name, std::span<std::byte> out) = 0;

  /// Gives the device's memory back until `wake`; contents are kept on the host, and plans stay
  /// valid. Nothing runs in between. A device that has no memory of its own keeps what it has.
  virtual void sleep() {}
  virtual void wake() {}

  /// Sets every byte of a state buffer to zero. Errors: invalid if no plan names it.
  virtual void clear(std::string_view name) = 0;

  /// Names and types of the parameters that plans so far read.
  virtual std::vector<ir::Buffer> parameters() const = 0;

  /// The device in words.
  virtual std::string describe() const = 0;
};

}  // namespace parhelion::exec
