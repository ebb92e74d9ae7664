#include "exec/cpu/kernels/sampling.h"

#include "base/random.h"
#include "exec/cpu/kernels/log_sum_exp.h"
#include "exec/cpu/kernels/parallel.h"
#include "exec/cpu/kernels/targets.h"

#include <cmath>

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

/// The candidates of one row: ids [begin, end), their weights by id, and the logits that order
/// them.
struct SamplingRow {
  const float* logits;
  float* weight;
  std::int32_t* begin;
  std::int32_t* end;

  bool is_before(std::int32_t a, std::int32_t b) const {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
  }
};

std::int32_t sampling_argmax(const float* logits, std::int64_t count, float max) {
  return static_cast<std::int32_t>(std::find(logits, logits + count, max) - logits);
}

double sampling_mass(const SamplingRow& row) {
  double mass = 0;
  for (const std::int32_t* id = row.begin; id != row.end; ++id) {
    mass += static_cast<double>(row.weight[*id]);
  }
  return mass;
}

void sampling_keep_min_p(SamplingRow& row, std::int64_t vocabulary, float min_p) {
  row.end = row.begin;
  for (std::int64_t id = 0; id < vocabulary; ++id) {
    if (row.weight[id] > 0.0f && row.weight[id] >= min_p) {
      *row.end++ = static_cast<std::int32_t>(id);
    }
  }
}

void sampling_keep_top_k(SamplingRow& row, std::int64_t top_k) {
  if (top_k <= 0 || top_k >= row.end - row.begin) return;
  std::nth_element(row.begin, row.begin + top_k, row.end,
                   [&](std::int32_t a, std::int32_t b) { return row.is_before(a, b); });
  row.end = row.begin + top_k;
  std::sort(row.begin, row.end);
}

/// Pops the largest candidates from a heap, to the back, until their mass suffices.
void sampling_keep_top_p(SamplingRow& row, float top_p) {
  if (!(top_p < 1.0f)) return;
  const double wanted = static_cast<double>(top_p) * sampling_mass(row);
  const auto is_after = [&](std::int32_t a, std::int32_t b) { return row.is_before(b, a); };
  std::make_heap(row.begin, row.end, is_after);
  std::int32_t* heap_end = row.end;
  double mass = 0;
  do {
    std::pop_heap(row.begin, heap_end, is_after);
    --heap_end;
    mass += static_cast<double>(row.weight[*heap_end]);
  } while (mass < wanted && heap_end != row.begin);
  row.begin = heap_end;
  std::sort(row.begin, row.end);
}

std::int32_t sampling_draw(const SamplingRow& row, float uniform_draw) {
  const double target = static_cast<double>(uniform_draw) * sampling_mass(row);
  double mass = 0;
  for (const std::int32_t* id = row.begin; id != row.end; ++id) {
    mass += static_cast<double>(row.weight[*id]);
    if (mass > target) return *id;
  }
  return row.end[-1];
}

std::int32_t sampling_pick(const Sampling& args, std::int64_t r, float max, float* weight) {
  const float* logits = args.logits + r * args.vocabulary;
  if (args.temperature[r] <= 0.0f || args.top_k[r] == 1) {
    return sampling_argmax(logits, args.vocabulary, max);
  }
  HWY_DYNAMIC_DISPATCH(sampling_weights)(logits, args.vocabulary, max, args.temperature[r], weight);
  auto* ids = reinterpret_cast<std::int32_t*>(weight + args.vocabulary);
  SamplingRow row = {logits, weight, ids, ids};
  sampling_keep_min_p(row, args.vocabulary, std::min(args.min_p[r], 1.0f));
  sampling_keep_top_k(row, args.top_k[r]);
  sampling_keep_top_p(row, args.top_p[r]);
  return sampling_draw(row, uniform(args.seed[r], kSamplingTag, args.offset[r]));
}

void sampling_row(const Sampling& args, std::int64_t r, float* weight) {
  const float* logits = args.logits + r * args.vocabulary;
  const float lse = log_sum_exp(logits, args.vocabulary);
  args.ids[r] = -1;
  args.log_probability[r] = -std::numeric_limits<float>::infinity();
  if (!std::isfinite(lse)) return;
  const float max = HWY_DYNAMIC_DISPATCH(sampling_max)(logits, args.vocabulary);
  args.ids[r] = sampling_pick(args, r, max, weight);
  args.log_probability[r] = logits[args.ids[r]] - lse;
}

}  // namespace

std::size_t sample_scratch_bytes(std::int64_t rows, std::int64_t vocabulary, int threads) {
  const auto workers = std::clamp<std::int64_t>(rows, 1, std::max(threads, 1));
  return static_cast<std::size_t>(workers * vocabulary) * (sizeof(float) + sizeof(std::int32_t));
}

void sample(const Sampling& args, void* scratch, int threads) {
  auto* base = static_cast<float*>(scratch);
  parallel_items(args.rows, threads, [&](std::int64_t r, int worker) {
    sampling_row(args, r, base + 2 * worker * args.vocabulary);
  });
}

}  // namespace parhelion::exec::cpu
#endif
