#include "exec/cpu/kernels/sampling.h"

#include "base/random.h"
#include "exec/cpu/kernels/log_sum_exp.h"
#include "exec/cpu/kernels/parallel.h"
#include "exec/cpu/kernels/targets.h"

#include <bit>
#include <cmath>
#include <cstddef>

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/cpu/kernels/sampling.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "exec/cpu/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {

float sampling_max(const float* x, std::int64_t count) {
  const F32 d;
  const Vec32 lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  return fold_lanes<MaxFold>(count, -std::numeric_limits<float>::infinity(),
                             [&](Vec32 partial, std::int64_t c, auto extent) {
                               return hn::Max(partial,
                                              keep(d, load(d, x + c, extent), lowest, extent));
                             });
}

void sampling_weights(const float* x, std::int64_t count, float max, float temperature,
                      float* weight) {
  const F32 d;
  const Vec32 top = hn::Set(d, max);
  const Vec32 by = hn::Set(d, temperature);
  for_vectors(count, [&](std::int64_t c, auto extent) {
    const Vec32 scaled = hn::Div(hn::Sub(load(d, x + c, extent), top), by);
    store(d, exp_of(d, scaled), weight + c, extent);
  });
}

}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parhelion::exec::cpu {

HWY_EXPORT(sampling_max);
HWY_EXPORT(sampling_weights);

namespace {

constexpr std::uint64_t kSamplingTag = 0x73616d706c65;
constexpr std::int64_t kSamplingBuckets = 2048;

/// One row's candidates, ids ascending, and memory to narrow them.
struct SamplingRow {
  double* bucket_mass;         // [kSamplingBuckets]
  std::int32_t* bucket_count;  // [kSamplingBuckets]
  float* weight;               // [vocabulary], of each id, at most 1
  std::int32_t* ids;           // [vocabulary]
  std::int32_t* boundary;      // [vocabulary]
  std::int64_t count = 0;      // of ids in use

  /// Descending weight, then ascending id.
  bool is_before(std::int32_t a, std::int32_t b) const {
    return weight[a] > weight[b] || (weight[a] == weight[b] && a < b);
  }
};

/// Bytes of one worker, a multiple of 64.
std::int64_t sampling_row_bytes(std::int64_t vocabulary) {
  return (12 * (kSamplingBuckets + vocabulary) + 63) / 64 * 64;
}

SamplingRow carve_sampling_row(std::byte* at, std::int64_t vocabulary) {
  SamplingRow row = {};
  row.bucket_mass = reinterpret_cast<double*>(at);
  row.bucket_count = reinterpret_cast<std::int32_t*>(row.bucket_mass + kSamplingBuckets);
  row.weight = reinterpret_cast<float*>(row.bucket_count + kSamplingBuckets);
  row.ids = reinterpret_cast<std::int32_t*>(row.weight + vocabulary);
  row.boundary = row.ids + vocabulary;
  return row;
}

std::int32_t sampling_argmax(const float* logits, std::int64_t count, float max) {
  return static_cast<std::int32_t>(std::find(logits, logits + count, max) - logits);
}

double sampling_mass(const SamplingRow& row) {
  double mass = 0;
  for (std::int64_t i = 0; i < row.count; ++i) mass += static_cast<double>(row.weight[row.ids[i]]);
  return mass;
}

/// Larger weights are in higher buckets: exponent and four bits of the mantissa.
std::int64_t sampling_bucket(float weight) {
  return std::min<std::int64_t>(std::bit_cast<std::uint32_t>(weight) >> 19, kSamplingBuckets - 1);
}

/// A prefix of the candidates in descending order: what it holds so far, and where it ends.
struct SamplingPrefix {
  std::int64_t enough_count;
  double enough_mass;
  std::int64_t count = 0;
  double mass = 0;

  bool is_enough_with(std::int64_t more_count, double more_mass) const {
    return count + more_count >= enough_count || mass + more_mass >= enough_mass;
  }
};

/// Takes whole buckets from the highest on; returns the one in which the prefix ends, -1 if none.
std::int64_t sampling_find_bucket(SamplingRow& row, SamplingPrefix& prefix) {
  std::fill_n(row.bucket_mass, kSamplingBuckets, 0.0);
  std::fill_n(row.bucket_count, kSamplingBuckets, 0);
  for (std::int64_t i = 0; i < row.count; ++i) {
    const float weight = row.weight[row.ids[i]];
    row.bucket_mass[sampling_bucket(weight)] += static_cast<double>(weight);
    row.bucket_count[sampling_bucket(weight)] += 1;
  }
  for (std::int64_t bucket = kSamplingBuckets - 1; bucket >= 0; --bucket) {
    if (row.bucket_count[bucket] == 0) continue;
    if (prefix.is_enough_with(row.bucket_count[bucket], row.bucket_mass[bucket])) return bucket;
    prefix.count += row.bucket_count[bucket];
    prefix.mass += row.bucket_mass[bucket];
  }
  return -1;
}

/// The last candidate of the prefix, which ends in `bucket`.
std::int32_t sampling_find_last(SamplingRow& row, std::int64_t bucket, SamplingPrefix prefix) {
  const auto is_inside = [&](std::int32_t id) { return sampling_bucket(row.weight[id]) == bucket; };
  std::int32_t* end = std::copy_if(row.ids, row.ids + row.count, row.boundary, is_inside);
  std::sort(row.boundary, end, [&](std::int32_t a, std::int32_t b) { return row.is_before(a, b); });
  const std::int32_t* last = row.boundary;
  while (last + 1 < end && !prefix.is_enough_with(1, static_cast<double>(row.weight[*last]))) {
    prefix.count += 1;
    prefix.mass += static_cast<double>(row.weight[*last]);
    ++last;
  }
  return *last;
}

/// Keeps the fewest candidates, in descending order, that are enough by count or mass.
void sampling_keep_prefix(SamplingRow& row, SamplingPrefix prefix) {
  const std::int64_t bucket = sampling_find_bucket(row, prefix);
  if (bucket < 0) return;
  const std::int32_t last = sampling_find_last(row, bucket, prefix);
  const auto is_dropped = [&](std::int32_t id) { return row.is_before(last, id); };
  row.count = std::remove_if(row.ids, row.ids + row.count, is_dropped) - row.ids;
}

void sampling_keep_min_p(SamplingRow& row, std::int64_t vocabulary, float min_p) {
  row.count = 0;
  for (std::int64_t id = 0; id < vocabulary; ++id) {
    if (row.weight[id] > 0.0f && row.weight[id] >= min_p) {
      row.ids[row.count++] = static_cast<std::int32_t>(id);
    }
  }
}

std::int32_t sampling_draw(const SamplingRow& row, float uniform_draw) {
  const double target = static_cast<double>(uniform_draw) * sampling_mass(row);
  double mass = 0;
  for (std::int64_t i = 0; i < row.count; ++i) {
    mass += static_cast<double>(row.weight[row.ids[i]]);
    if (mass > target) return row.ids[i];
  }
  return row.ids[row.count - 1];
}

std::int32_t sampling_pick(const Sampling& args, std::int64_t r, float max, SamplingRow& row) {
  const float* logits = args.logits + r * args.vocabulary;
  if (!(args.temperature[r] > 0.0f) || args.top_k[r] == 1) {
    return sampling_argmax(logits, args.vocabulary, max);
  }
  HWY_DYNAMIC_DISPATCH(sampling_weights)
  (logits, args.vocabulary, max, args.temperature[r], row.weight);
  sampling_keep_min_p(row, args.vocabulary, std::fmin(args.min_p[r], 1.0f));
  constexpr double kAllMass = std::numeric_limits<double>::infinity();
  if (args.top_k[r] > 0) sampling_keep_prefix(row, {args.top_k[r], kAllMass});
  if (args.top_p[r] < 1.0f) {
    const double mass = static_cast<double>(args.top_p[r]) * sampling_mass(row);
    sampling_keep_prefix(row, {args.vocabulary + 1, mass});
  }
  return sampling_draw(row, uniform(args.seed[r], kSamplingTag, args.offset[r]));
}

void sampling_row(const Sampling& args, std::int64_t r, SamplingRow row) {
  const float* logits = args.logits + r * args.vocabulary;
  const float lse = log_sum_exp(logits, args.vocabulary);
  args.ids[r] = -1;
  args.log_probability[r] = -std::numeric_limits<float>::infinity();
  if (!std::isfinite(lse)) return;
  const float max = HWY_DYNAMIC_DISPATCH(sampling_max)(logits, args.vocabulary);
  args.ids[r] = sampling_pick(args, r, max, row);
  args.log_probability[r] = logits[args.ids[r]] - lse;
}

}  // namespace

std::size_t sample_scratch_bytes(std::int64_t rows, std::int64_t vocabulary, int threads) {
  const auto workers = std::clamp<std::int64_t>(rows, 1, std::max(threads, 1));
  return static_cast<std::size_t>(workers * sampling_row_bytes(vocabulary));
}

void sample(const Sampling& args, void* scratch, int threads) {
  auto* base = static_cast<std::byte*>(scratch);
  parallel_items(args.rows, threads, [&](std::int64_t r, int worker) {
    std::byte* memory = base + worker * sampling_row_bytes(args.vocabulary);
    sampling_row(args, r, carve_sampling_row(memory, args.vocabulary));
  });
}

}  // namespace parhelion::exec::cpu
#endif
