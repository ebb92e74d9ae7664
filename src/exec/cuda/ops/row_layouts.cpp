#include "exec/cuda/ops/row_layouts.h"

#include "exec/cuda/ops/attention_candidates.h"

#include <algorithm>
#include <utility>

namespace parhelion::exec::cuda {
namespace {

RowSlots take_row_slots(WorkspaceCursor& cursor, const RowShape& shape) {
  RowSlots slots{.query_lengths = cursor.integers(shape.rows),
                 .key_lengths = cursor.integers(shape.rows)};
  if (shape.slotting != RowSlotting::dense) slots.query_offsets = cursor.integers(shape.rows + 1);
  slots.table = cursor.integers(shape.rows * shape.pages_per_row);
  return slots;
}

RowLayout take_row_layout(WorkspaceCursor& cursor, const RowShape& shape) {
  RowLayout layout{};
  layout.shape = shape;
  if (shape.slotting != RowSlotting::together) layout.single = take_row_slots(cursor, shape);
  if (shape.slotting != RowSlotting::dense) layout.several = take_row_slots(cursor, shape);
  if (shape.slotting == RowSlotting::parted) {
    layout.several_rows = cursor.integers(shape.rows);
    layout.several_count = cursor.integers(1);
  }
  return layout;
}

}  // namespace

SharedLayout RowLayouts::find(const PagedRows& rows) {
  const auto known = std::ranges::find(entries_, rows, &Entry::rows);
  if (known != entries_.end()) return {.layout = known->layout, .is_new = false};
  WorkspaceCursor count(nullptr);
  take_row_layout(count, rows.shape);
  DeviceMemory memory(count.bytes());
  WorkspaceCursor cursor(memory.data());
  entries_.push_back({rows, take_row_layout(cursor, rows.shape), std::move(memory)});
  return {.layout = entries_.back().layout, .is_new = true};
}

}  // namespace parhelion::exec::cuda
