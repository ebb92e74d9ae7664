#include "exec/cuda/kernels/attention_plain.cuh"

#include <cfloat>

namespace parhelion::exec::cuda {
namespace {

/// Keys and values of one document and kv head.
template <class T>
struct PackedKeys {
  const T* k;
  const T* v;
  std::int64_t stride;

  __device__ const T* key(std::int64_t position) const { return k + position * stride; }
  __device__ const T* value(std::int64_t position) const { return v + position * stride; }
};

/// Keys and values of one row and kv head.
template <class T>
struct PagedKeys {
  const T* k;
  const T* v;
  const std::int32_t* page_table;
  std::int64_t pages;
  std::int64_t page_tokens;
  std::int64_t stride;

  __device__ std::int64_t offset(std::int64_t position) const {
    const std::int64_t page = page_table[position / page_tokens];
    const std::int64_t safe = page >= 0 && page < pages ? page : 0;
    return (safe * page_tokens + position % page_tokens) * stride;
  }
  __device__ const T* key(std::int64_t position) const { return k + offset(position); }
  __device__ const T* value(std::int64_t position) const { return v + offset(position); }
};

/// One query's state, in a warp's memory.
struct PlainRow {
  float* q;        // [d]
  float* acc;      // [d]
  float* block_o;  // [d]
  float* p;        // [kPlainBlock]
  float max;
  float sum;
};

__host__ __device__ std::int64_t plain_row_floats(std::int64_t d) { return 3 * d + kPlainBlock; }

/// Folds keys [lo, hi) of the block that begins at `start`. Each lane has every 32nd key.
template <class Keys>
__device__ void plain_fold_block(const PlainShape& shape, const Keys& keys, PlainRow& row,
                                 std::int64_t start, std::int64_t lo, std::int64_t hi, int lane) {
  float block_max = -FLT_MAX;
  for (std::int64_t j = lo + lane; j < hi; j += kWarpSize) {
    const float score = plain_dot(row.q, keys.key(start + j), shape.d) * shape.scale;
    row.p[j] = score;
    block_max = fmaxf(block_max, score);
  }
  block_max = warp_max(block_max);
  float block_sum = 0.0f;
  for (std::int64_t j = lo + lane; j < hi; j += kWarpSize) {
    row.p[j] = expf(row.p[j] - block_max);
    block_sum += row.p[j];
  }
  block_sum = warp_sum(block_sum);
  __syncwarp();
  const float max = fmaxf(row.max, block_max);
  const float keep_old = expf(row.max - max);
  const float keep_block = expf(block_max - max);
  plain_fill(row.block_o, 0.0f, shape.d, lane);
  for (std::int64_t j = lo; j < hi; ++j) {
    const auto* value = keys.value(start + j);
    for (std::int64_t c = lane; c < shape.d; c += kWarpSize)
      row.block_o[c] = fmaf(row.p[j], to_float(value[c]), row.block_o[c]);
  }
  for (std::int64_t c = lane; c < shape.d; c += kWarpSize)
    row.acc[c] = fmaf(row.block_o[c], keep_block, row.acc[c] * keep_old);
  row.sum = fmaf(block_sum, keep_block, row.sum * keep_old);
  row.max = max;
  __syncwarp();
}

/// Output and lse of one query that sees keys [first, limit).
template <class T, class Keys>
__device__ void plain_query(const PlainShape& shape, const Keys& keys, const PlainWarp& warp,
                            const T* q, std::int64_t first, std::int64_t limit, T* o, float* lse) {
  const std::int64_t d = shape.d;
  PlainRow row = {warp.memory,         warp.memory + d, warp.memory + 2 * d,
                  warp.memory + 3 * d, -FLT_MAX,        0.0f};
  plain_load(row.q, q, d, warp.lane);
  plain_fill(row.acc, 0.0f, d, warp.lane);
  __syncwarp();
  for (std::int64_t start = first / kPlainBlock * kPlainBlock; start < limit;
       start += kPlainBlock) {
    plain_fold_block(shape, keys, row, start, max(first - start, std::int64_t{0}),
                     min(limit - start, kPlainBlock), warp.lane);
  }
  const bool is_blind = first >= limit;
  const float divisor = is_blind ? 1.0f : row.sum;
  for (std::int64_t c = warp.lane; c < d; c += kWarpSize)
    o[c] = from_float<T>(__fdiv_rn(row.acc[c], divisor));
  if (lse != nullptr && warp.lane == 0) *lse = is_blind ? 0.0f : row.max + logf(row.sum);
}

__device__ std::int64_t plain_first(const PlainShape& shape, std::int64_t position) {
  return shape.window > 0 ? max(position + 1 - shape.window, std::int64_t{0}) : 0;
}

template <class T>
__global__ void plain_attention_kernel(PlainAttention args) {
  wait_for_inputs();
  const PlainShape& shape = args.shape;
  const PlainWarp warp = plain_warp(plain_row_floats(shape.d));
  if (warp.index >= shape.tokens * shape.query_heads) return;
  const std::int64_t token = warp.index / shape.query_heads;
  const std::int64_t head = warp.index % shape.query_heads;
  const std::int64_t kv_head = head / (shape.query_heads / shape.kv_heads);
  const std::int64_t document = span_of(args.document_indptr, args.documents, token);
  const std::int64_t begin = document < 0 ? 0 : span_begin(args.document_indptr, document, token);
  const std::int64_t stride = shape.kv_heads * shape.d;
  const std::int64_t at = begin * stride + kv_head * shape.d;
  const PackedKeys<T> keys = {static_cast<const T*>(args.k) + at,
                              static_cast<const T*>(args.v) + at, stride};
  const std::int64_t limit = document < 0 ? 0 : token - begin + 1;
  plain_query(shape, keys, warp, static_cast<const T*>(args.q) + warp.index * shape.d,
              plain_first(shape, limit - 1), limit, static_cast<T*>(args.o) + warp.index * shape.d,
              args.lse + warp.index);
}

template <class T>
__global__ void plain_paged_attention_kernel(PlainPagedAttention args) {
  wait_for_inputs();
  const PlainShape& shape = args.shape;
  const PlainWarp warp = plain_warp(plain_row_floats(shape.d));
  if (warp.index >= shape.tokens * shape.query_heads) return;
  const std::int64_t token = warp.index / shape.query_heads;
  const std::int64_t head = warp.index % shape.query_heads;
  const std::int64_t kv_head = head / (shape.query_heads / shape.kv_heads);
  const std::int64_t row = span_of(args.query_indptr, args.rows, token);
  const std::int64_t at = kv_head * shape.d;
  const PagedKeys<T> keys = {static_cast<const T*>(args.key_pages) + at,
                             static_cast<const T*>(args.value_pages) + at,
                             args.page_table + max(row, std::int64_t{0}) * args.pages_per_row,
                             args.pages,
                             args.page_tokens,
                             shape.kv_heads * shape.d};
  std::int64_t first = 0;
  std::int64_t limit = 0;
  if (row >= 0) {
    const std::int64_t length = args.kv_length[row];
    const std::int64_t position = length - args.query_indptr[row + 1] + token;
    const std::int64_t room = args.pages > 0 ? args.pages_per_row * args.page_tokens : 0;
    first = plain_first(shape, position);
    limit = min(position + 1, min(length, room));
  }
  plain_query<T>(shape, keys, warp, static_cast<const T*>(args.q) + warp.index * shape.d, first,
                 limit, static_cast<T*>(args.o) + warp.index * shape.d, nullptr);
}

}  // namespace

void plain_attention(const PlainAttention& args, cudaStream_t stream) {
  const PlainShape& shape = args.shape;
  with_type(shape.kind, [&](auto type) {
    launch_plain(plain_attention_kernel<decltype(type)>, args, shape.tokens * shape.query_heads,
                 plain_row_floats(shape.d), stream);
  });
}

void plain_paged_attention(const PlainPagedAttention& args, cudaStream_t stream) {
  const PlainShape& shape = args.shape;
  with_type(shape.kind, [&](auto type) {
    launch_plain(plain_paged_attention_kernel<decltype(type)>, args,
                 shape.tokens * shape.query_heads, plain_row_floats(shape.d), stream);
  });
}

}  // namespace parhelion::exec::cuda
