#pragma once

#include "ir/element.h"

#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// What is made of each row of logits, in one launch. With z the row, lse = log(sum(exp(z))) by one
/// fold whatever is asked for, and known = the label lies in [0, cols):
///
///   loss = lse - z[label], log_probability = -loss, both 0 if not known
///   d[c] = (exp(z[c] - lse) - [c = label]) dloss rounded to d_kind, 0 if not known
struct LogitRows {
  const float* logits = nullptr;  ///< [rows, cols], aligned to 16
  std::int64_t rows = 0, cols = 0;
  const std::int32_t* labels = nullptr;  ///< [rows]
  const float* given_lse = nullptr;      ///< [rows]; null: it is computed
  float* lse = nullptr;                  ///< [rows]; outputs that are null are not made
  float* loss = nullptr;                 ///< [rows]
  float* log_probability = nullptr;      ///< [rows]
  const float* dloss = nullptr;          ///< [rows]
  ir::Kind d_kind = ir::Kind::f32;
  void* d = nullptr;  ///< [rows, cols], aligned to 16; may be the logits if f32
};
void logit_rows(const LogitRows& args, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
