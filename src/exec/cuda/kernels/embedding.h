#pragma once

#include "ir/element.h"

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

// All operands are aligned to 16 bytes.

/// y[t, :] = table[ids[t], :]; an id outside [0, vocabulary) gives a row of zeros.
struct Embedding {
  ir::Kind kind = ir::Kind::f32;      ///< f32 or bf16, of table and y
  const std::int32_t* ids = nullptr;  ///< [tokens]
  const void* table = nullptr;        ///< [vocabulary, hidden]
  void* y = nullptr;                  ///< [tokens, hidden]
  std::int64_t tokens = 0;
  std::int64_t vocabulary = 0;
  std::int64_t hidden = 0;
};
void embedding(const Embedding& args, cudaStream_t stream);

/// acc[ids[t], :] += dy[t, :], for each id in ascending order of t; ids outside are left out.
struct EmbeddingGrad {
  ir::Kind kind = ir::Kind::f32;      ///< f32 or bf16, of dy
  const std::int32_t* ids = nullptr;  ///< [tokens]
  const void* dy = nullptr;           ///< [tokens, hidden]
  float* acc = nullptr;               ///< [vocabulary, hidden]
  std::int64_t tokens = 0;
  std::int64_t vocabulary = 0;
  std::int64_t hidden = 0;
  const bool* gate = nullptr;  ///< null: always
};
void embedding_grad(const EmbeddingGrad& args, std::byte* workspace, cudaStream_t stream);

/// Bytes that embedding_grad needs, for the current device.
std::int64_t embedding_grad_workspace(std::int64_t tokens, std::int64_t vocabulary);

}  // namespace parhelion::exec::cuda
