#include "base/error.h"
#include "ir/memory_plan.h"

#include <algorithm>
#include <map>

namespace parhelion::ir {
namespace {

/// The ranges that are taken in one arena, by offset.
class TakenRanges {
 public:
  /// Errors: corrupt if the range overlaps one that is taken.
  void take(ValueId value, const Range& range) {
    if (range.bytes == 0) return;
    const auto after = taken_.lower_bound(range.offset);
    if (after != taken_.end()) check_apart(after->second, {value, range});
    if (after != taken_.begin()) check_apart(std::prev(after)->second, {value, range});
    taken_.emplace_hint(after, range.offset, Taken{value, range});
  }

  void give_back(const Range& range) {
    if (range.bytes != 0) taken_.erase(range.offset);
  }

 private:
  struct Taken {
    ValueId value;
    Range range;
  };

  static void check_apart(const Taken& a, const Taken& b) {
    const bool apart = a.range.offset + a.range.bytes <= b.range.offset ||
                       b.range.offset + b.range.bytes <= a.range.offset;
    if (apart) return;
    fail(ErrorKind::corrupt,
         "memory plan: values {} at {} ({} bytes) and {} at {} ({} bytes) overlap in arena {}",
         a.value.index, a.range.offset, a.range.bytes, b.value.index, b.range.offset, b.range.bytes,
         name(a.range.arena));
  }

  std::map<std::int64_t, Taken> taken_;
};

/// What the sweep carries along the ops.
struct MemorySweep {
  const Program& program;
  const MemoryPlan& plan;
  std::array<TakenRanges, kArenaCount> arenas;
  std::array<std::int64_t, kArenaCount> live_bytes = {};
  std::array<std::int64_t, kArenaCount> most_bytes = {};
  std::vector<std::uint32_t> last_op;  // per value: its last reader, or its producer

  const Range& range(ValueId value) const { return plan.of_value[value.index - 1]; }
};

std::int64_t padded(std::int64_t bytes) {
  return bytes + (kArenaAlignment - bytes % kArenaAlignment) % kArenaAlignment;
}

/// A range by itself: inside its arena, aligned, of the value's size.
void check_range(const Program& program, const MemoryPlan& plan, ValueId id) {
  const Range& range = plan.of_value[id.index - 1];
  const auto arena = static_cast<std::size_t>(range.arena);
  ensure(arena < kArenaCount, ErrorKind::corrupt, "memory plan: value {}: arena {} does not exist",
         id.index, arena);
  const std::int64_t bytes = byte_count(program.at(id).type);
  if (range.bytes != bytes)
    fail(ErrorKind::corrupt, "memory plan: value {}: has {} bytes, expected {} for {}", id.index,
         range.bytes, bytes, to_string(program.at(id).type));
  if (range.offset < 0 || range.offset % kArenaAlignment != 0)
    fail(ErrorKind::corrupt, "memory plan: value {}: offset is {}, expected a multiple of {}",
         id.index, range.offset, kArenaAlignment);
  const std::int64_t peak = plan.peak_bytes[arena];
  if (bytes > peak || range.offset > peak - bytes)
    fail(ErrorKind::corrupt, "memory plan: value {}: {} bytes at {} pass the peak {} of arena {}",
         id.index, bytes, range.offset, peak, name(range.arena));
}

void check_arena(const MemorySweep& sweep, ValueId id, bool persistent, bool crosses) {
  const ArenaKind arena = sweep.range(id).arena;
  const bool right = persistent ? arena == ArenaKind::persistent
                     : crosses  ? arena == ArenaKind::slot
                                : arena != ArenaKind::persistent;
  if (!right)
    fail(ErrorKind::corrupt, "memory plan: value {}: lies in arena {}, but {}", id.index,
         name(arena),
         persistent ? "has a buffer"
         : crosses  ? "is read in another phase"
                    : "has no buffer");
}

/// What an op names before it runs: its inputs and its gate.
std::vector<ValueId> values_read(const OpNode& node) {
  std::vector<ValueId> result;
  for (const Operand& input : node.inputs) result.push_back(input.value);
  if (node.gate) result.push_back(node.gate);
  return result;
}

void check_arenas(const MemorySweep& sweep) {
  const Program& program = sweep.program;
  std::vector<bool> crosses(program.values.size());
  for (const OpNode& node : program.ops) {
    for (const ValueId read : values_read(node)) {
      const OpId producer = program.at(read).producer;
      if (producer && program.at(producer).phase != node.phase) crosses[read.index - 1] = true;
    }
  }
  for (std::uint32_t i = 1; i <= program.values.size(); ++i) {
    const bool persistent = static_cast<bool>(program.at(ValueId{i}).buffer);
    check_arena(sweep, {i}, persistent, crosses[i - 1]);
  }
}

void take(MemorySweep& sweep, ValueId id) {
  const Range& range = sweep.range(id);
  const auto arena = static_cast<std::size_t>(range.arena);
  sweep.arenas[arena].take(id, range);
  sweep.live_bytes[arena] += padded(range.bytes);
  sweep.most_bytes[arena] = std::max(sweep.most_bytes[arena], sweep.live_bytes[arena]);
}

void give_back(MemorySweep& sweep, ValueId id) {
  const Range& range = sweep.range(id);
  const auto arena = static_cast<std::size_t>(range.arena);
  sweep.arenas[arena].give_back(range);
  sweep.live_bytes[arena] -= padded(range.bytes);
}

/// Buffers are live throughout; their versions share one range.
void take_buffers(MemorySweep& sweep) {
  std::vector<ValueId> first(sweep.program.buffers.size());
  for (std::uint32_t i = 1; i <= sweep.program.values.size(); ++i) {
    const BufferId buffer = sweep.program.at(ValueId{i}).buffer;
    if (!buffer) continue;
    ValueId& known = first[buffer.index - 1];
    if (!known) {
      known = {i};
      take(sweep, known);
    } else if (sweep.range(known) != sweep.range({i})) {
      fail(ErrorKind::corrupt,
           "memory plan: values {} and {}: are versions of one buffer in two ranges", known.index,
           i);
    }
  }
}

/// A tied output takes over the range of its input.
void take_over(MemorySweep& sweep, ValueId input, ValueId output) {
  if (sweep.range(input) != sweep.range(output))
    fail(ErrorKind::corrupt, "memory plan: values {} and {}: are tied but lie in two ranges",
         input.index, output.index);
  give_back(sweep, input);
  sweep.last_op[input.index - 1] = 0;
}

void sweep_op(MemorySweep& sweep, std::uint32_t number) {
  const OpNode& node = sweep.program.ops[number - 1];
  for (const Tie& tie : traits(node.op).ties) {
    const ValueId input = node.inputs[static_cast<std::size_t>(tie.input)].value;
    const ValueId output = node.outputs[static_cast<std::size_t>(tie.output)];
    if (!sweep.program.at(output).buffer) take_over(sweep, input, output);
  }
  std::vector<ValueId> touched;
  for (const ValueId output : node.outputs) {
    if (sweep.program.at(output).buffer) continue;
    take(sweep, output);
    touched.push_back(output);
  }
  for (const ValueId read : values_read(node)) {
    if (!sweep.program.at(read).buffer) touched.push_back(read);
  }
  for (const ValueId id : touched) {
    if (sweep.last_op[id.index - 1] != number) continue;
    give_back(sweep, id);
    sweep.last_op[id.index - 1] = 0;  // an op may read a value twice
  }
}

std::vector<std::uint32_t> last_ops(const Program& program) {
  std::vector<std::uint32_t> last(program.values.size());
  for (std::uint32_t number = 1; number <= program.ops.size(); ++number) {
    const OpNode& node = program.ops[number - 1];
    for (const ValueId output : node.outputs) last[output.index - 1] = number;
    for (const ValueId read : values_read(node)) last[read.index - 1] = number;
  }
  return last;
}

}  // namespace

void verify_memory(const Program& instance, const MemoryPlan& plan) {
  ensure(plan.of_value.size() == instance.values.size(), ErrorKind::corrupt,
         "memory plan: has {} ranges, expected {}", plan.of_value.size(), instance.values.size());
  for (std::uint32_t i = 1; i <= instance.values.size(); ++i) check_range(instance, plan, {i});
  MemorySweep sweep{.program = instance, .plan = plan, .arenas = {}, .last_op = last_ops(instance)};
  check_arenas(sweep);
  take_buffers(sweep);
  for (std::uint32_t number = 1; number <= instance.ops.size(); ++number) sweep_op(sweep, number);
  for (std::size_t i = 0; i < kArenaCount; ++i) {
    ensure(sweep.most_bytes[i] == plan.lower_bound_bytes[i], ErrorKind::corrupt,
           "memory plan: arena {}: lower bound is {}, expected {}", name(static_cast<ArenaKind>(i)),
           plan.lower_bound_bytes[i], sweep.most_bytes[i]);
  }
}

}  // namespace parhelion::ir
