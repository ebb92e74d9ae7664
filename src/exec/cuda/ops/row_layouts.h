#pragma once

#include "exec/cuda/device_memory.h"
#include "exec/cuda/kernels/attention_layout.h"
#include "ir/program.h"

#include <vector>

namespace parhelion::exec::cuda {

/// The rows that a paged attention reads. A value of a program never changes, so ops with equal
/// ones have equal layouts.
struct PagedRows {
  ir::ValueId page_table;
  ir::ValueId query_indptr;
  ir::ValueId kv_length;
  RowShape shape;
  bool operator==(const PagedRows&) const = default;
};

/// A layout on the device, without the addresses of what it is made from.
struct SharedLayout {
  RowLayout layout;
  bool is_new = false;  ///< who asks is the first: its launch fills the layout, before all others
};

/// The layouts of rows of one plan: all its layers share one.
class RowLayouts {
 public:
  /// The layout of `rows`, valid as long as this. Ask in the order of ops, while planning.
  ///
  /// Errors: exhausted if the device has no room for it.
  SharedLayout find(const PagedRows& rows);

 private:
  struct Entry {
    PagedRows rows;
    RowLayout layout;
    DeviceMemory memory;
  };
  std::vector<Entry> entries_;
};

}  // namespace parhelion::exec::cuda
