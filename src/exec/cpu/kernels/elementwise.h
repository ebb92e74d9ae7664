#pragma once

#include "ir/element.h"

#include <cstdint>

namespace parhelion::exec::cpu {

/// Operands of y[i] = f(a[i], b[i]). y may be a or b.
struct Binary {
  ir::Kind kind = ir::Kind::f32;  ///< f32 or bf16, of all three
  const void* a = nullptr;        ///< [count]
  const void* b = nullptr;        ///< [count]
  void* y = nullptr;              ///< [count]
  std::int64_t count = 0;
};

/// y = a + b, in f32, rounded once.
void add(const Binary& args, int threads);

/// y = a * b, in f32, rounded once.
void multiply(const Binary& args, int threads);

/// Operands of y[i] = f(x[i]). y may be x.
struct Unary {
  ir::Kind kind = ir::Kind::f32;  ///< f32 or bf16, of both
  const void* x = nullptr;        ///< [count]
  void* y = nullptr;              ///< [count]
  std::int64_t count = 0;
};

/// y = x / (1 + exp(-x)), in f32, rounded once.
void silu(const Unary& args, int threads);

/// y = x * factor, in f32, rounded once.
void scale(const Unary& args, float factor, int threads);

/// y[i] = x[i] in another format, to nearest even.
struct Cast {
  ir::Kind from = ir::Kind::f32;  ///< f32 or bf16
  ir::Kind to = ir::Kind::f32;    ///< f32 or bf16
  const void* x = nullptr;        ///< [count]
  void* y = nullptr;              ///< [count], not x
  std::int64_t count = 0;
};
void cast(const Cast& args, int threads);

/// y[i] = value, for f32 or bf16.
void fill(ir::Kind kind, float value, void* y, std::int64_t count, int threads);

/// acc[i] += x[i]: accumulates a gradient. x is f32 or bf16, acc f32.
void accumulate(ir::Kind kind, const void* x, float* acc, std::int64_t count, int threads);

}  // namespace parhelion::exec::cpu
