#pragma once

#include "ir/element.h"

#include <cstdint>

namespace parhelion::exec::cpu {

/// y[t, :] = table[ids[t], :]; an id outside [0, vocabulary) gives a row of zeros (-1 = none).
struct Embedding {
  ir::Kind kind = ir::Kind::f32;      ///< f32 or bf16, of table and y
  const std::int32_t* ids = nullptr;  ///< [tokens]
  const void* table = nullptr;        ///< [vocabulary, hidden]
  void* y = nullptr;                  ///< [tokens, hidden]
  std::int64_t tokens = 0;
  std::int64_t vocabulary = 0;
  std::int64_t hidden = 0;
};
void embedding(const Embedding& args, int threads);

/// acc[ids[t], :] += dy[t, :], for each id in ascending order of t; ids outside are left out.
struct EmbeddingGrad {
  ir::Kind kind = ir::Kind::f32;      ///< f32 or bf16, of dy
  const std::int32_t* ids = nullptr;  ///< [tokens]
  const void* dy = nullptr;           ///< [tokens, hidden]
  float* acc = nullptr;               ///< [vocabulary, hidden]
  std::int64_t tokens = 0;
  std::int64_t vocabulary = 0;
  std::int64_t hidden = 0;
};
void embedding_grad(const EmbeddingGrad& args, int threads);

}  // namespace parhelion::exec::cpu
