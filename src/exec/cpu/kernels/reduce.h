#pragma once

#include "ir/element.h"

#include <cstdint>

namespace parhelion::exec::cpu {

enum class Reduction : std::uint8_t { sum, mean, max };

/// A reduction of x[rows, cols] over one of its dims, in f32, rounded once.
///
/// mean is the sum divided by the count, max of nothing is -infinity.
struct Reduce {
  Reduction how = Reduction::sum;
  ir::Kind kind = ir::Kind::f32;    ///< f32 or bf16, of x
  ir::Kind y_kind = ir::Kind::f32;  ///< f32 or bf16, of y
  const void* x = nullptr;          ///< [rows, cols]
  void* y = nullptr;                ///< [rows] or [cols]
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

/// y[r] over all c: 64 partials by c % 64, each ascending, folded by halves.
void reduce_last(const Reduce& args, int threads);

/// y[c] over all r: rows in blocks of 256, each ascending from the start value, blocks ascending.
void reduce_first(const Reduce& args, int threads);

/// acc[c] += the sum that reduce_first gives, for gradients of a bias.
///
/// Only kind, x, rows and cols of `args` are read.
void accumulate_rows(const Reduce& args, float* acc, int threads);

/// y[r, c] = x[r], or x[r] / cols for Reduction::mean: the gradient of reduce_last, all f32.
struct Broadcast {
  Reduction how = Reduction::sum;  ///< sum or mean
  const float* x = nullptr;        ///< [rows]
  float* y = nullptr;              ///< [rows, cols]
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};
void broadcast_last(const Broadcast& args, int threads);

}  // namespace parhelion::exec::cpu
