#include "exec/cuda/kernels/attention_layout.h"
#include "exec/cuda/kernels/common.cuh"
#include "exec/cuda/kernels/launch.cuh"

#include <algorithm>

namespace parhelion::exec::cuda {
namespace {

constexpr int kLayoutThreads = 1024;
constexpr int kLayoutWarps = kLayoutThreads / kWarpSize;
constexpr unsigned kLayoutBlocks = 64;  // that copy and zero

template <class Word>
__device__ void zero_words(void* matrix, std::int64_t begin, std::int64_t end, std::int64_t thread,
                           std::int64_t threads) {
  auto* words = static_cast<Word*>(matrix);
  for (std::int64_t i = begin + thread; i < end; i += threads) words[i] = Word{};
}

/// By thread `thread` of `threads`.
__device__ void zero_share(const TailRows& tail, std::int64_t thread, std::int64_t threads) {
  if (tail.rows == 0) return;
  const std::int64_t first = max(static_cast<std::int64_t>(*tail.first), std::int64_t{0});
  for (int m = 0; m < 3; ++m) {
    const std::int64_t row = tail.row_bytes[m];
    if (tail.matrix[m] == nullptr) continue;
    if (row % 16 == 0) {
      zero_words<uint4>(tail.matrix[m], first * row / 16, tail.rows * row / 16, thread, threads);
    } else {
      zero_words<ushort>(tail.matrix[m], first * row / 2, tail.rows * row / 2, thread, threads);
    }
  }
}

/// The number of `flag`s in threads before this one, and in all of them.
__device__ int2 count_before(bool flag, int* warp_counts) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const unsigned ballot = __ballot_sync(0xffffffffu, flag);
  __syncthreads();
  if (lane == 0) warp_counts[warp] = __popc(ballot);
  __syncthreads();
  int2 counts = {__popc(ballot & ((1u << lane) - 1u)), 0};
  for (int i = 0; i < kLayoutWarps; ++i) {
    if (i < warp) counts.x += warp_counts[i];
    counts.y += warp_counts[i];
  }
  return counts;
}

__device__ void write_slot(const DocumentLayout& layout, const DocumentSlots& slots,
                           std::int64_t slot, std::int32_t begin) {
  slots.query_offsets[slot] = begin * layout.query_token;
  slots.key_offsets[slot] = begin * layout.key_token;
  slots.lse_offsets[slot] = begin * layout.lse_token;
}

/// Which of `choices` numbers of slots holds `used`; `choices` where none is needed.
__device__ unsigned choice_of(int choices, const std::int64_t* slots, std::int64_t used) {
  if (used == 0) return static_cast<unsigned>(choices);
  int choice = 0;
  while (choice + 1 < choices && slots[choice] < used) ++choice;
  return static_cast<unsigned>(choice);
}

/// One block a class, whose documents keep their order; the others zero the tail.
__global__ void __launch_bounds__(kLayoutThreads) lay_out_documents_kernel(DocumentLayout layout) {
  wait_for_inputs();
  if (static_cast<int>(blockIdx.x) >= layout.classes) {
    const std::int64_t block = static_cast<std::int64_t>(blockIdx.x) - layout.classes;
    zero_share(layout.tail, block * blockDim.x + threadIdx.x,
               static_cast<std::int64_t>(gridDim.x - layout.classes) * blockDim.x);
    return;
  }
  __shared__ int warp_counts[kLayoutWarps];
  const DocumentSlots slots = layout.at[blockIdx.x];
  const std::int32_t limit = static_cast<std::int32_t>(layout.tokens);
  std::int64_t used = 0;
  for (std::int64_t at = 0; at < layout.documents; at += kLayoutThreads) {
    const std::int64_t document = at + threadIdx.x;
    const bool is_one = document < layout.documents;
    const std::int32_t begin = is_one ? min(max(layout.document_indptr[document], 0), limit) : 0;
    const std::int32_t end = is_one ? min(layout.document_indptr[document + 1], limit) : 0;
    const std::int32_t length = end - begin;
    const bool is_here = length > slots.shortest && length <= slots.longest;
    const int2 counts = count_before(is_here, warp_counts);
    const std::int64_t slot = used + counts.x;
    if (is_here && slot < slots.slots) {
      slots.lengths[slot] = length;
      write_slot(layout, slots, slot, begin);
    }
    used += counts.y;
  }
  const std::int32_t end = min(max(layout.document_indptr[layout.documents], 0), limit);
  for (std::int64_t slot = used + threadIdx.x; slot <= slots.slots; slot += kLayoutThreads) {
    if (slot < slots.slots) slots.lengths[slot] = 0;
    write_slot(layout, slots, slot, end);
  }
  if (threadIdx.x != 0) return;
  if (used > slots.slots) write_slot(layout, slots, slots.slots, end);
  if (slots.choices > 0)
    cudaGraphSetConditional(slots.condition, choice_of(slots.choices, slots.choice_slots, used));
}

__global__ void __launch_bounds__(kLayoutThreads) zero_tail_kernel(TailRows tail) {
  wait_for_inputs();
  zero_share(tail, std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x,
             std::int64_t{gridDim.x} * blockDim.x);
}

/// A token where zeros may be written: behind the last, or the first of a row with several. With
/// neither, all rows have one token and nobody asks.
__device__ std::int32_t spare_token(const RowLayout& layout, std::int32_t several) {
  const std::int32_t end = layout.query_indptr[layout.shape.rows];
  return end >= 0 && end < layout.shape.tokens ? end : several;
}

/// The new tokens of a row, and its keys with them.
struct RowTokens {
  std::int32_t begin, count, keys;
};

__device__ RowTokens tokens_of(const RowLayout& layout, std::int64_t row) {
  const RowShape& shape = layout.shape;
  const std::int32_t limit = static_cast<std::int32_t>(shape.tokens);
  const std::int32_t begin = min(max(layout.query_indptr[row], 0), limit);
  const std::int32_t count = max(min(layout.query_indptr[row + 1], limit) - begin, 0);
  const std::int64_t room = shape.pages > 0 ? shape.pages_per_row * shape.page_tokens : 0;
  const std::int64_t keys = min(static_cast<std::int64_t>(max(layout.kv_length[row], 0)), room);
  return {begin, count, static_cast<std::int32_t>(keys)};
}

__device__ void write_row_slot(const RowSlots& slots, std::int64_t slot, std::int32_t length,
                               std::int32_t keys, std::int32_t offset) {
  slots.query_lengths[slot] = length;
  slots.key_lengths[slot] = keys;
  if (slots.query_offsets != nullptr) slots.query_offsets[slot] = offset;
}

__device__ void write_single_row(const RowLayout& layout, std::int64_t row, std::int32_t spare) {
  const RowTokens tokens = tokens_of(layout, row);
  const bool is_single = tokens.count == 1;
  write_row_slot(layout.single, row, is_single ? layout.shape.single_length : 0,
                 is_single ? tokens.keys : 0,
                 (is_single ? tokens.begin : spare) * layout.shape.query_token);
}

__device__ void write_row_together(const RowLayout& layout, std::int64_t row) {
  const RowTokens tokens = tokens_of(layout, row);
  write_row_slot(layout.several, row, tokens.count, tokens.count > 0 ? tokens.keys : 0,
                 tokens.begin * layout.shape.query_token);
}

/// Gives the rows of more than one token the first slots. By the whole block.
__device__ void write_several_rows(const RowLayout& layout, std::int32_t end) {
  __shared__ int warp_counts[kLayoutWarps];
  const RowShape& shape = layout.shape;
  std::int64_t used = 0;
  for (std::int64_t at = 0; at < shape.rows; at += kLayoutThreads) {
    const std::int64_t row = at + threadIdx.x;
    const RowTokens tokens = row < shape.rows ? tokens_of(layout, row) : RowTokens{};
    const bool is_here = tokens.count > 1;
    const int2 counts = count_before(is_here, warp_counts);
    if (is_here) {
      const std::int64_t slot = used + counts.x;
      layout.several_rows[slot] = static_cast<std::int32_t>(row);
      write_row_slot(layout.several, slot, tokens.count, tokens.keys,
                     tokens.begin * shape.query_token);
    }
    used += counts.y;
  }
  for (std::int64_t slot = used + threadIdx.x; slot < shape.rows; slot += kLayoutThreads) {
    layout.several_rows[slot] = 0;
    write_row_slot(layout.several, slot, 0, 0, end * shape.query_token);
  }
  if (threadIdx.x == 0) *layout.several_count = static_cast<std::int32_t>(used);
}

/// Entry `i` of the table. A library may read ahead of a row's keys, so behind them stands the
/// row's first page, and what is no page is page 0.
__device__ std::int32_t safe_page(const RowLayout& layout, std::int64_t i) {
  const RowShape& shape = layout.shape;
  const std::int64_t row = i / shape.pages_per_row;
  const std::int64_t begin = (i - row * shape.pages_per_row) * shape.page_tokens;
  const bool is_held = begin < layout.kv_length[row];
  const std::int32_t page = layout.page_table[is_held ? i : row * shape.pages_per_row];
  return page >= 0 && page < shape.pages ? page : 0;
}

/// By the whole block.
__device__ void write_single_rows(const RowLayout& layout) {
  __shared__ std::int32_t several;
  const RowShape& shape = layout.shape;
  if (threadIdx.x == 0) several = 0;
  __syncthreads();
  for (std::int64_t row = threadIdx.x; row < shape.rows; row += blockDim.x) {
    const std::int32_t begin = layout.query_indptr[row];
    if (layout.query_indptr[row + 1] - begin > 1) atomicMax(&several, begin);
  }
  __syncthreads();
  const std::int32_t spare = spare_token(layout, several);
  for (std::int64_t row = threadIdx.x; row < shape.rows; row += blockDim.x)
    write_single_row(layout, row, spare);
}

/// The first block lays out rows, the others copy the table of slots that are rows.
__global__ void __launch_bounds__(kLayoutThreads) lay_out_rows_kernel(RowLayout layout) {
  wait_for_inputs();
  const RowShape& shape = layout.shape;
  if (blockIdx.x > 0) {
    const bool is_together = shape.slotting == RowSlotting::together;
    std::int32_t* const table = is_together ? layout.several.table : layout.single.table;
    const std::int64_t count = shape.rows * shape.pages_per_row;
    const std::int64_t threads = static_cast<std::int64_t>(gridDim.x - 1) * blockDim.x;
    std::int64_t i = static_cast<std::int64_t>(blockIdx.x - 1) * blockDim.x + threadIdx.x;
    for (; i < count; i += threads) table[i] = safe_page(layout, i);
    return;
  }
  const std::int32_t limit = static_cast<std::int32_t>(shape.tokens);
  const std::int32_t end = min(max(layout.query_indptr[shape.rows], 0), limit);
  if (shape.slotting != RowSlotting::together) write_single_rows(layout);
  if (shape.slotting == RowSlotting::parted) write_several_rows(layout, end);
  if (shape.slotting == RowSlotting::together) {
    for (std::int64_t row = threadIdx.x; row < shape.rows; row += blockDim.x)
      write_row_together(layout, row);
  }
  if (threadIdx.x != 0) return;
  for (const RowSlots& slots : {layout.single, layout.several}) {
    if (slots.query_offsets != nullptr) slots.query_offsets[shape.rows] = end * shape.query_token;
  }
}

/// The table of slots that are not rows, once `several_rows` are known.
__global__ void __launch_bounds__(kLayoutThreads) copy_several_table_kernel(RowLayout layout) {
  wait_for_inputs();
  const RowShape& shape = layout.shape;
  const std::int64_t count = shape.rows * shape.pages_per_row;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < count; i += threads) {
    const std::int64_t slot = i / shape.pages_per_row;
    const std::int64_t column = i - slot * shape.pages_per_row;
    layout.several.table[i] =
        safe_page(layout, layout.several_rows[slot] * shape.pages_per_row + column);
  }
}

__global__ void choose_rows_kernel(const std::int32_t* count, RowChoices of,
                                   cudaGraphConditionalHandle condition) {
  wait_for_inputs();
  cudaGraphSetConditional(condition, choice_of(of.choices, of.slots, *count));
}

/// Enough to give each thread one of `count`, but no more than copy and zero.
unsigned blocks_for(std::int64_t count) {
  const std::int64_t blocks = count / kLayoutThreads + 1;
  return static_cast<unsigned>(std::min<std::int64_t>(blocks, kLayoutBlocks));
}

}  // namespace

void lay_out_documents(const DocumentLayout& layout, cudaStream_t stream) {
  const unsigned blocks = static_cast<unsigned>(layout.classes) + kLayoutBlocks;
  launch("lay_out_documents", lay_out_documents_kernel, blocks, kLayoutThreads, stream, layout);
}

void zero_tail(const TailRows& tail, cudaStream_t stream) {
  std::int64_t bytes = 0;
  for (const std::int64_t row : tail.row_bytes) bytes += tail.rows * row;
  launch("zero_tail", zero_tail_kernel, blocks_for(bytes / 16), kLayoutThreads, stream, tail);
}

void lay_out_rows(const RowLayout& layout, cudaStream_t stream) {
  const std::int64_t entries = layout.shape.rows * layout.shape.pages_per_row;
  launch("lay_out_rows", lay_out_rows_kernel, 1 + blocks_for(entries), kLayoutThreads, stream,
         layout);
  if (layout.shape.slotting != RowSlotting::parted) return;
  launch("copy_several_table", copy_several_table_kernel, blocks_for(entries), kLayoutThreads,
         stream, layout);
}

void choose_rows(const std::int32_t* count, const RowChoices& of,
                 cudaGraphConditionalHandle condition, cudaStream_t stream) {
  launch("choose_rows", choose_rows_kernel, 1, 1, stream, count, of, condition);
}

}  // namespace parhelion::exec::cuda
