#pragma once

#include "ir/element.h"

#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

// All operands are aligned to 16 bytes.

/// Operands of y[i] = f(a[i], b[i]). y may be a or b.
struct Binary {
  ir::Kind kind = ir::Kind::f32;  ///< f32 or bf16, of all three
  const void* a = nullptr;        ///< [count]
  const void* b = nullptr;        ///< [count]
  void* y = nullptr;              ///< [count]
  std::int64_t count = 0;
};

/// y = a + b, in f32, rounded once.
void add(const Binary& args, cudaStream_t stream);

/// y = a * b, in f32, rounded once.
void multiply(const Binary& args, cudaStream_t stream);

/// y = x * factor, in f32, rounded once. y may be x.
struct Scale {
  ir::Kind kind = ir::Kind::f32;  ///< f32 or bf16, of both
  const void* x = nullptr;        ///< [count]
  void* y = nullptr;              ///< [count]
  std::int64_t count = 0;
  float factor = 1.0f;
};
void scale(const Scale& args, cudaStream_t stream);

/// y[i] = x[i] in another format, to nearest even.
struct Cast {
  ir::Kind from = ir::Kind::f32;  ///< f32 or bf16
  ir::Kind to = ir::Kind::f32;    ///< f32 or bf16
  const void* x = nullptr;        ///< [count]
  void* y = nullptr;              ///< [count], not x
  std::int64_t count = 0;
};
void cast(const Cast& args, cudaStream_t stream);

/// y[i] = value, for f32 or bf16.
void fill(ir::Kind kind, float value, void* y, std::int64_t count, cudaStream_t stream);

/// acc[i] += x[i]: accumulates a gradient.
struct Accumulate {
  ir::Kind kind = ir::Kind::f32;  ///< f32 or bf16, of x
  const void* x = nullptr;        ///< [count]
  float* acc = nullptr;           ///< [count]
  std::int64_t count = 0;
  const bool* gate = nullptr;  ///< null: always
};
void accumulate(const Accumulate& args, cudaStream_t stream);

/// y[r, c] = x[r], or x[r] / columns where `mean`.
struct Broadcast {
  const float* x = nullptr;  ///< [rows]
  float* y = nullptr;        ///< [rows, columns]
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool mean = false;
};
void broadcast(const Broadcast& args, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
