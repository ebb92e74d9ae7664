#include "ir/memory_plan.h"

#include "base/error.h"
#include "ir/allocate_offsets.h"

#include <algorithm>

namespace parhelion::ir {
namespace {

constexpr std::uint32_t kNoStorage = 0;

/// What values share: a buffer's versions, or a chain of tied activations.
struct Storage {
  std::int64_t bytes = 0;
  bool is_buffer = false;
  bool crosses_phases = false;
  Phase phase = Phase::forward;  // of the op that gives it
  std::int64_t first = 0;
  std::int64_t last = 0;
  Range range = {};
};

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

/// The storages of a program and which one each value has (by id; 0 = none).
class Storages {
 public:
  explicit Storages(const Program& program)
      : program_(program), of_value_(program.values.size() + 1), all_(1) {
    add_buffers();
    for (std::uint32_t i = 1; i <= program.ops.size(); ++i) add_op({i});
  }

  Storage& of(ValueId value) { return all_[of_value_[value.index]]; }
  std::vector<Storage>& all() { return all_; }

 private:
  void add_buffers() {
    std::vector<std::uint32_t> of_buffer(program_.buffers.size() + 1);
    for (std::uint32_t i = 1; i <= program_.values.size(); ++i) {
      const Value& value = program_.at(ValueId{i});
      if (!value.buffer) continue;
      std::uint32_t& known = of_buffer[value.buffer.index];
      if (known == kNoStorage) known = add({.bytes = byte_count(value.type), .is_buffer = true});
      of_value_[i] = known;
    }
  }

  void add_op(OpId id) {
    const OpNode& node = program_.at(id);
    for (const Operand& input : node.inputs) touch(of(input.value), id, node.phase);
    if (node.gate) touch(of(node.gate), id, node.phase);
    for (const Tie& tie : traits(node.op).ties) {
      const Operand& input = node.inputs[static_cast<std::size_t>(tie.input)];
      of_value_[node.outputs[static_cast<std::size_t>(tie.output)].index] =
          of_value_[input.value.index];
    }
    for (const ValueId output : node.outputs) {
      if (of_value_[output.index] != kNoStorage) continue;
      of_value_[output.index] = add({.bytes = byte_count(program_.at(output).type),
                                     .phase = node.phase,
                                     .first = id.index,
                                     .last = id.index});
    }
  }

  static void touch(Storage& storage, OpId id, Phase phase) {
    storage.last = id.index;
    if (storage.phase != phase) storage.crosses_phases = true;
  }

  std::uint32_t add(Storage storage) {
    all_.push_back(storage);
    return static_cast<std::uint32_t>(all_.size() - 1);
  }

  const Program& program_;
  std::vector<std::uint32_t> of_value_;
  std::vector<Storage> all_;
};

ArenaKind arena_of(const Storage& storage) {
  if (storage.is_buffer) return ArenaKind::persistent;
  return storage.crosses_phases ? ArenaKind::slot : ArenaKind::transient;
}

/// Every peak is at most this sum, so no later arithmetic overflows.
void check_total_bytes(const std::vector<Storage>& storages) {
  std::int64_t total = 0;
  for (const Storage& storage : storages) {
    const bool fits = storage.bytes <= INT64_MAX - kArenaAlignment &&
                      !__builtin_add_overflow(total, aligned(storage.bytes), &total);
    ensure(fits, ErrorKind::exhausted, "memory plan: values need more than 64 bits of bytes");
  }
}

void place_buffers(std::vector<Storage>& storages, MemoryPlan& plan) {
  std::int64_t& end = plan.peak_bytes[static_cast<std::size_t>(ArenaKind::persistent)];
  for (Storage& storage : storages) {
    if (!storage.is_buffer) continue;
    storage.range = {.arena = ArenaKind::persistent, .offset = end, .bytes = storage.bytes};
    end += aligned(storage.bytes);
  }
  plan.lower_bound_bytes[static_cast<std::size_t>(ArenaKind::persistent)] = end;
}

void place_activations(std::vector<Storage>& storages, ArenaKind arena, MemoryPlan& plan) {
  std::vector<Block> blocks;
  std::vector<Storage*> owners;
  for (Storage& storage : storages) {
    if (storage.bytes == 0 || arena_of(storage) != arena) continue;
    blocks.push_back(
        {.bytes = aligned(storage.bytes), .first = storage.first, .last = storage.last});
    owners.push_back(&storage);
  }
  plan.lower_bound_bytes[static_cast<std::size_t>(arena)] = most_live_bytes(blocks);
  plan.peak_bytes[static_cast<std::size_t>(arena)] = allocate_offsets(blocks);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    owners[i]->range = {.arena = arena, .offset = blocks[i].offset, .bytes = owners[i]->bytes};
  }
}

/// One value for each range, the biggest first.
std::vector<ValueId> biggest_values(const MemoryPlan& plan, const Program& program) {
  std::vector<ValueId> values;
  for (std::uint32_t i = 1; i <= program.values.size(); ++i) {
    const Value& value = program.values[i - 1];
    const bool is_output = value.buffer && program.at(value.buffer).role == Role::output;
    const bool later_version = value.version != 0 && !is_output;
    if (!later_version) values.push_back({i});
  }
  std::ranges::stable_sort(values, std::ranges::greater{},
                           [&](ValueId id) { return plan.of_value[id.index - 1].bytes; });
  constexpr std::size_t kShown = 8;
  if (values.size() > kShown) values.resize(kShown);
  return values;
}

std::string biggest_line(const MemoryPlan& plan, const Program& program, ValueId id) {
  const Value& value = program.at(id);
  const Range& range = plan.of_value[id.index - 1];
  std::string what = value.buffer ? program.at(value.buffer).name : "";
  if (!value.buffer && value.producer) {
    const OpNode& node = program.at(value.producer);
    what = fmt::format("{} {}", traits(node.op).name, program.labels[node.label]);
  }
  return fmt::format("%{} {}: {} bytes, {} at {}, {}\n", id.index, to_string(value.type),
                     range.bytes, name(range.arena), range.offset, what);
}

}  // namespace

std::string_view name(ArenaKind arena) {
  switch (arena) {
    case ArenaKind::persistent:
      return "persistent";
    case ArenaKind::slot:
      return "slot";
    case ArenaKind::transient:
      return "transient";
  }
  return "unknown";
}

MemoryPlan plan_memory(const Program& instance) {
  Storages storages(instance);
  check_total_bytes(storages.all());
  MemoryPlan plan;
  place_buffers(storages.all(), plan);
  place_activations(storages.all(), ArenaKind::slot, plan);
  place_activations(storages.all(), ArenaKind::transient, plan);
  plan.of_value.reserve(instance.values.size());
  for (std::uint32_t i = 1; i <= instance.values.size(); ++i) {
    plan.of_value.push_back(storages.of({i}).range);
  }
  return plan;
}

std::string print(const MemoryPlan& plan, const Program& instance) {
  std::string text;
  for (std::size_t i = 0; i < kArenaCount; ++i) {
    const auto peak = static_cast<double>(plan.peak_bytes[i]);
    const auto bound = static_cast<double>(plan.lower_bound_bytes[i]);
    text += fmt::format("{}: peak {} bytes, lower bound {}, ratio {:.3f}\n",
                        name(static_cast<ArenaKind>(i)), plan.peak_bytes[i],
                        plan.lower_bound_bytes[i], bound == 0 ? 1.0 : peak / bound);
  }
  text += "biggest values\n";
  for (const ValueId id : biggest_values(plan, instance))
    text += "  " + biggest_line(plan, instance, id);
  return text;
}

}  // namespace parhelion::ir
