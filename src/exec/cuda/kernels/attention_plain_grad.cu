#include "exec/cuda/kernels/attention_plain.cuh"

namespace parhelion::exec::cuda {
namespace {

/// dq of one token and query head: q, do, dq [d] each and ds of a lane's key [32].
__host__ __device__ std::int64_t plain_dq_floats(std::int64_t d) { return 3 * d + kWarpSize; }

/// dk and dv of one token and kv head: k, v, dk, dv [d] each, p and ds of a lane's row [32] each.
__host__ __device__ std::int64_t plain_dk_floats(std::int64_t d) { return 4 * d + 2 * kWarpSize; }

/// Keys [first, token] of the document that begins at `begin`, both as tokens.
__device__ std::int64_t plain_first_token(const PlainShape& shape, std::int64_t begin,
                                          std::int64_t token) {
  return shape.window > 0 ? max(token + 1 - shape.window, begin) : begin;
}

/// delta = sum(do * o), the same bits in every lane.
template <class T>
__device__ float plain_delta(const float* d_o, const T* o, std::int64_t d, int lane) {
  float sum = 0.0f;
  for (std::int64_t c = lane; c < d; c += kWarpSize) sum = fmaf(d_o[c], to_float(o[c]), sum);
  return warp_sum(sum);
}

/// One query's rows in the memory of its warp.
struct PlainGradRow {
  float* q;
  float* d_o;
  float* dq;
  float* ds;  // [32]
  float lse;
  float delta;
};

/// Adds what keys [begin, end) of one head give to dq; `k` and `v` are tokens `stride` apart.
template <class T>
__device__ void plain_dq_keys(const PlainShape& shape, const PlainGradRow& row, const T* k,
                              const T* v, std::int64_t begin, std::int64_t end, int lane) {
  const std::int64_t d = shape.d;
  const std::int64_t stride = shape.kv_heads * d;
  for (std::int64_t start = begin; start < end; start += kWarpSize) {
    const std::int64_t j = start + lane;
    if (j < end) {
      const float p = expf(fmaf(plain_dot(row.q, k + j * stride, d), shape.scale, -row.lse));
      const float d_p = plain_dot(row.d_o, v + j * stride, d);
      row.ds[lane] = p * (d_p - row.delta) * shape.scale;
    }
    __syncwarp();
    const std::int64_t count = min(end - start, std::int64_t{kWarpSize});
    for (std::int64_t i = 0; i < count; ++i) {
      const T* key = k + (start + i) * stride;
      for (std::int64_t c = lane; c < d; c += kWarpSize)
        row.dq[c] = fmaf(row.ds[i], to_float(key[c]), row.dq[c]);
    }
    __syncwarp();
  }
}

template <class T>
__global__ void plain_dq_kernel(PlainAttentionGrad args) {
  wait_for_inputs();
  const PlainAttention& forward = args.forward;
  const PlainShape& shape = forward.shape;
  const std::int64_t d = shape.d;
  const PlainWarp warp = plain_warp(plain_dq_floats(d));
  if (warp.index >= shape.tokens * shape.query_heads) return;
  const std::int64_t at = warp.index * d;
  float* memory = warp.memory;
  PlainGradRow row = {memory, memory + d, memory + 2 * d, memory + 3 * d, 0.0f, 0.0f};
  plain_load(row.q, static_cast<const T*>(forward.q) + at, d, warp.lane);
  plain_load(row.d_o, static_cast<const T*>(args.d_o) + at, d, warp.lane);
  plain_fill(row.dq, 0.0f, d, warp.lane);
  __syncwarp();
  row.lse = forward.lse[warp.index];
  row.delta = plain_delta(row.d_o, static_cast<const T*>(forward.o) + at, d, warp.lane);
  const std::int64_t token = warp.index / shape.query_heads;
  const std::int64_t head = warp.index % shape.query_heads;
  const std::int64_t kv_at = head / (shape.query_heads / shape.kv_heads) * d;
  const std::int64_t document = span_of(forward.document_indptr, forward.documents, token);
  if (document >= 0) {
    plain_dq_keys(
        shape, row, static_cast<const T*>(forward.k) + kv_at,
        static_cast<const T*>(forward.v) + kv_at,
        plain_first_token(shape, span_begin(forward.document_indptr, document, token), token),
        token + 1, warp.lane);
  }
  plain_store(static_cast<T*>(args.dq) + at, row.dq, d, warp.lane);
  if (warp.lane == 0) args.delta[warp.index] = row.delta;
}

/// One key's rows in the memory of its warp.
struct PlainKey {
  float* k;
  float* v;
  float* dk;
  float* dv;
  float* p;   // [32]
  float* ds;  // [32]
};

/// p and ds of one row, which is a token and query head.
template <class T>
__device__ void plain_key_row(const PlainAttentionGrad& args, const PlainKey& key, std::int64_t row,
                              int lane) {
  const PlainShape& shape = args.forward.shape;
  const T* q = static_cast<const T*>(args.forward.q) + row * shape.d;
  const T* d_o = static_cast<const T*>(args.d_o) + row * shape.d;
  const float p = expf(fmaf(plain_dot(key.k, q, shape.d), shape.scale, -args.forward.lse[row]));
  key.p[lane] = p;
  key.ds[lane] = p * (plain_dot(key.v, d_o, shape.d) - args.delta[row]) * shape.scale;
}

/// Adds the rows [first, last) of one key, counted by query and then head in the group.
template <class T>
__device__ void plain_key_rows(const PlainAttentionGrad& args, const PlainKey& key,
                               std::int64_t kv_head, std::int64_t first, std::int64_t last,
                               int lane) {
  const PlainShape& shape = args.forward.shape;
  const std::int64_t group = shape.query_heads / shape.kv_heads;
  const auto row_of = [&](std::int64_t r) {
    return r / group * shape.query_heads + kv_head * group + r % group;
  };
  for (std::int64_t start = first; start < last; start += kWarpSize) {
    if (start + lane < last) plain_key_row<T>(args, key, row_of(start + lane), lane);
    __syncwarp();
    const std::int64_t count = min(last - start, std::int64_t{kWarpSize});
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = row_of(start + i) * shape.d;
      const T* q = static_cast<const T*>(args.forward.q) + at;
      const T* d_o = static_cast<const T*>(args.d_o) + at;
      for (std::int64_t c = lane; c < shape.d; c += kWarpSize) {
        key.dk[c] = fmaf(key.ds[i], to_float(q[c]), key.dk[c]);
        key.dv[c] = fmaf(key.p[i], to_float(d_o[c]), key.dv[c]);
      }
    }
    __syncwarp();
  }
}

template <class T>
__global__ void plain_dk_kernel(PlainAttentionGrad args) {
  wait_for_inputs();
  const PlainAttention& forward = args.forward;
  const PlainShape& shape = forward.shape;
  const std::int64_t d = shape.d;
  const PlainWarp warp = plain_warp(plain_dk_floats(d));
  if (warp.index >= shape.tokens * shape.kv_heads) return;
  const std::int64_t token = warp.index / shape.kv_heads;
  const std::int64_t kv_head = warp.index % shape.kv_heads;
  float* memory = warp.memory;
  const PlainKey key = {memory,         memory + d,     memory + 2 * d,
                        memory + 3 * d, memory + 4 * d, memory + 4 * d + kWarpSize};
  plain_load(key.k, static_cast<const T*>(forward.k) + warp.index * d, d, warp.lane);
  plain_load(key.v, static_cast<const T*>(forward.v) + warp.index * d, d, warp.lane);
  plain_fill(key.dk, 0.0f, 2 * d, warp.lane);
  __syncwarp();
  const std::int64_t document = span_of(forward.document_indptr, forward.documents, token);
  if (document >= 0) {
    const std::int64_t group = shape.query_heads / shape.kv_heads;
    const std::int64_t document_end =
        min(static_cast<std::int64_t>(forward.document_indptr[document + 1]), shape.tokens);
    const std::int64_t end =
        shape.window > 0 ? min(token + shape.window, document_end) : document_end;
    plain_key_rows<T>(args, key, kv_head, token * group, end * group, warp.lane);
  }
  plain_store(static_cast<T*>(args.dk) + warp.index * d, key.dk, d, warp.lane);
  plain_store(static_cast<T*>(args.dv) + warp.index * d, key.dv, d, warp.lane);
}

}  // namespace

void plain_attention_grad(const PlainAttentionGrad& args, cudaStream_t stream) {
  const PlainShape& shape = args.forward.shape;
  with_type(shape.kind, [&](auto type) {
    using T = decltype(type);
    launch_plain(plain_dq_kernel<T>, args, shape.tokens * shape.query_heads,
                 plain_dq_floats(shape.d), stream);
    launch_plain(plain_dk_kernel<T>, args, shape.tokens * shape.kv_heads, plain_dk_floats(shape.d),
                 stream);
  });
}

}  // namespace parhelion::exec::cuda
