#pragma once

#include <cstdint>

namespace parhelion::exec::cpu {

/// Operands of ir::EditLogits.
struct EditLogits {
  const float* logits = nullptr;         ///< [rows, vocabulary]
  const std::int32_t* indptr = nullptr;  ///< [rows + 1], cut to [0, edits]
  const std::int32_t* ids = nullptr;     ///< [edits], distinct in a row
  const float* bias = nullptr;           ///< [edits]
  const float* scale = nullptr;          ///< [edits]
  const float* subtract = nullptr;       ///< [edits]
  const std::int32_t* mask = nullptr;    ///< [rows, mask_words(vocabulary)]
  float* y = nullptr;                    ///< [rows, vocabulary]
  std::int64_t rows = 0;
  std::int64_t vocabulary = 0;
  std::int64_t edits = 0;
};
void edit_logits(const EditLogits& args, int threads);

}  // namespace parhelion::exec::cpu
