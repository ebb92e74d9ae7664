#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// Operands of ir::EditLogits.
struct EditLogits {
  const float* logits = nullptr;         ///< [rows, vocabulary], aligned to 16
  const std::int32_t* indptr = nullptr;  ///< [rows + 1], cut to [0, edits]
  const std::int32_t* ids = nullptr;     ///< [edits], distinct in a row
  const float* bias = nullptr;           ///< [edits]
  const float* scale = nullptr;          ///< [edits]
  const float* subtract = nullptr;       ///< [edits]
  const std::int32_t* mask = nullptr;    ///< [rows, ceil(vocabulary / 32)]
  float* y = nullptr;                    ///< [rows, vocabulary], aligned to 16
  std::int64_t rows = 0;
  std::int64_t vocabulary = 0;
  std::int64_t edits = 0;
};
void edit_logits(const EditLogits& args, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
