// The step that bench_gpu_resident checks its kernel against: one plain kernel an op, all in f64.
#include "gpu_resident.h"

namespace parhelion::bench {
namespace {

constexpr int kThreads = 128;

__device__ double block_total(double x) {
  __shared__ double all[kThreads];
  __syncthreads();
  all[threadIdx.x] = x;
  __syncthreads();
  double sum = 0.0;
  for (int i = 0; i < kThreads; ++i) sum += all[i];
  return sum;
}

__device__ double number(Bf16 x) { return static_cast<double>(__bfloat162float(x)); }

// y[row] = w[row] x [+ y[row]], a block a row.
__global__ void product_kernel(const Bf16* w, const double* x, double* y, int columns, bool add) {
  const Bf16* row = w + std::int64_t{blockIdx.x} * columns;
  double sum = 0.0;
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += kThreads)
    sum += number(row[i]) * x[i];
  sum = block_total(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = add ? y[blockIdx.x] + sum : sum;
}

__global__ void norm_kernel(const double* x, const Bf16* gain, double* y, int columns) {
  double squares = 0.0;
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += kThreads) squares += x[i] * x[i];
  const double scale = rsqrt(block_total(squares) / columns + static_cast<double>(kEpsilon));
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += kThreads)
    y[i] = x[i] * scale * number(gain[i]);
}

__global__ void embed_kernel(const Bf16* table, const std::int32_t* token, double* x, int columns) {
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += kThreads)
    x[i] = number(table[std::int64_t{*token} * columns + i]);
}

// Norm and rope of a head; values are left as they are. A block a head, a thread a column.
__global__ void turn_kernel(const Decoder model, const Bf16* gains, const double* qkv, double* y) {
  __shared__ double normed[kColumns];
  const int head = static_cast<int>(blockIdx.x);
  const int c = static_cast<int>(threadIdx.x);
  const int heads = model.shape.heads;
  const double x = qkv[head * kColumns + c];
  if (head >= heads + kKeyHeads) {
    y[head * kColumns + c] = x;
    return;
  }
  const double scale = rsqrt(block_total(x * x) / kColumns + static_cast<double>(kEpsilon));
  normed[c] = x * scale * number(gains[(head < heads ? 0 : kColumns) + c]);
  __syncthreads();
  constexpr int kHalf = kColumns / 2;
  const float* angles = model.turns + std::int64_t{*model.position} * kColumns + c % kHalf;
  const double other = c < kHalf ? -normed[c + kHalf] : normed[c - kHalf];
  y[head * kColumns + c] =
      normed[c] * static_cast<double>(angles[0]) + other * static_cast<double>(angles[kHalf]);
}

/// The row of a past token's key head in a layer's cache.
__device__ const Bf16* cached(const Decoder& model, const Bf16* cache, int layer, int token,
                              int head) {
  const std::int64_t at =
      std::int64_t{model.table[token / kPageTokens]} * kPageTokens + token % kPageTokens;
  return cache + layer * model.cache_numbers() + (at * kKeyHeads + head) * kColumns;
}

// A block a query head, a thread a column.
__global__ void attend_kernel(const Decoder model, int layer, const double* turned, double* scores,
                              int positions, double* y) {
  const int head = static_cast<int>(blockIdx.x);
  const int heads = model.shape.heads;
  const int key_head = head / (heads / kKeyHeads);
  const int past = *model.position;
  const int c = static_cast<int>(threadIdx.x);
  const double* query = turned + head * kColumns;
  const double* key = turned + (heads + key_head) * kColumns;
  const double* value = turned + (heads + kKeyHeads + key_head) * kColumns;
  double* own = scores + std::int64_t{head} * positions;
  for (int token = c; token <= past; token += kThreads) {
    double score = 0.0;
    const Bf16* row = token < past ? cached(model, model.keys, layer, token, key_head) : nullptr;
    for (int i = 0; i < kColumns; ++i)
      score += query[i] * (row != nullptr ? number(row[i]) : key[i]);
    own[token] = score / sqrt(static_cast<double>(kColumns));
  }
  __syncthreads();
  double most = own[0];
  for (int token = 1; token <= past; ++token) most = fmax(most, own[token]);
  double sum = 0.0;
  double output = 0.0;
  for (int token = 0; token <= past; ++token) {
    const double chance = exp(own[token] - most);
    sum += chance;
    output +=
        chance *
        (token < past ? number(cached(model, model.values, layer, token, key_head)[c]) : value[c]);
  }
  y[head * kColumns + c] = output / sum;
}

__global__ void activate_kernel(const double* gate_up, double* y, int mlp) {
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (i < mlp) y[i] = gate_up[i] / (1.0 + exp(-gate_up[i])) * gate_up[mlp + i];
}

__global__ void copy_numbers_kernel(const double* from, double* to, int count) {
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (i < count) to[i] = from[i];
}

void reference_layer(const Decoder& model, const Reference& to, int layer) {
  const DecoderShape& shape = model.shape;
  const std::int64_t at = layer;
  const Bf16* gains = model.gains + at * shape.gains();
  const int hidden = shape.hidden;
  const int heads = shape.heads;
  double* wide = to.scratch;
  double* normed = to.scratch + 2 * shape.mlp + hidden;
  norm_kernel<<<1, kThreads>>>(to.x, gains, normed, hidden);
  product_kernel<<<shape.qkv_rows(), kThreads>>>(model.qkv + at * shape.qkv_rows() * hidden, normed,
                                                 to.qkv, hidden, false);
  turn_kernel<<<heads + 2 * kKeyHeads, kColumns>>>(model, gains + 2 * hidden, to.qkv, to.turned);
  attend_kernel<<<heads, kColumns>>>(model, layer, to.turned, to.scores, to.positions, to.attended);
  copy_numbers_kernel<<<(hidden + kThreads - 1) / kThreads, kThreads>>>(to.x, to.middle, hidden);
  product_kernel<<<hidden, kThreads>>>(model.o + at * hidden * shape.attention_columns(),
                                       to.attended, to.middle, shape.attention_columns(), true);
  norm_kernel<<<1, kThreads>>>(to.middle, gains + hidden, normed, hidden);
  product_kernel<<<2 * shape.mlp, kThreads>>>(model.gate_up + at * 2 * shape.mlp * hidden, normed,
                                              wide, hidden, false);
  activate_kernel<<<(shape.mlp + kThreads - 1) / kThreads, kThreads>>>(wide, to.activated,
                                                                       shape.mlp);
  copy_numbers_kernel<<<(hidden + kThreads - 1) / kThreads, kThreads>>>(to.middle, to.x, hidden);
  product_kernel<<<hidden, kThreads>>>(model.down + at * hidden * shape.mlp, to.activated, to.x,
                                       shape.mlp, true);
}

}  // namespace

void reference_step(const Decoder& model, const Reference& reference) {
  const DecoderShape& shape = model.shape;
  double* normed = reference.scratch;
  embed_kernel<<<1, kThreads>>>(model.embedding, model.token, reference.x, shape.hidden);
  for (int layer = 0; layer < shape.layers; ++layer) reference_layer(model, reference, layer);
  norm_kernel<<<1, kThreads>>>(reference.x, model.last_gain, normed, shape.hidden);
  product_kernel<<<shape.vocabulary, kThreads>>>(model.head, normed, reference.logits, shape.hidden,
                                                 false);
  check(cudaDeviceSynchronize(), "the reference");
}

}  // namespace parhelion::bench
