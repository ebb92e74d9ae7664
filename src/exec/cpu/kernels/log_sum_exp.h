#pragma once

#include "ir/element.h"

#include <cstdint>

namespace parhelion::exec::cpu {

/// Logits of rows, f32. The log-sum-exp fold of a row: blocks of 4096 columns from 0, each alone
///   m = max(x),  s = sum of exp(x - m): 64 partials by column % 64, each ascending, folded by
///   halves;
/// blocks merged ascending: M = max(m, mb), s = fma(sb, exp(mb - M), s * exp(m - M));
/// a block of -infinities takes no part; lse = M + log(s), -infinity if no block took part.
struct LogitRows {
  const float* logits = nullptr;  ///< [rows, cols]
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

/// log(sum(exp(row))) of one row by the fold.
float log_sum_exp(const float* row, std::int64_t count);

/// lse[r] of each row by the fold.
void log_sum_exp(const LogitRows& args, float* lse, int threads);

/// y[r] = logits[r, ids[r]] - lse(r); an id outside [0, cols) gives 0 (-100 = ignored).
///
/// lse, if not null, receives lse[r].
void log_probability(const LogitRows& args, const std::int32_t* ids, float* y, float* lse,
                     int threads);

/// d[r, c] = (exp(logits[r, c] - lse[r]) - (c == labels[r])) * dloss[r], the gradient of
/// loss[r] = lse[r] - logits[r, labels[r]]; zero where the label is outside [0, cols).
struct CrossEntropyGrad {
  LogitRows rows;
  const float* lse = nullptr;            ///< [rows]
  const std::int32_t* labels = nullptr;  ///< [rows]
  const float* dloss = nullptr;          ///< [rows]
  ir::Kind d_kind = ir::Kind::f32;       ///< f32 or bf16
  void* d = nullptr;                     ///< [rows, cols]; may be the logits if f32
};
void cross_entropy_grad(const CrossEntropyGrad& args, int threads);

}  // namespace parhelion::exec::cpu
