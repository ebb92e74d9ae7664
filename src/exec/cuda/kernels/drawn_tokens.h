#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// y[t] = max(drawn[source[t]], 0) where source[t] is in [0, slots), else ids[t].
struct FeedTokens {
  const std::int32_t* ids = nullptr;     ///< [tokens]
  const std::int32_t* source = nullptr;  ///< [tokens]
  const std::int32_t* drawn = nullptr;   ///< [slots]
  std::int32_t* y = nullptr;             ///< [tokens]
  std::int64_t tokens = 0;
  std::int64_t slots = 0;
};
void feed_tokens(const FeedTokens& args, cudaStream_t stream);

/// drawn[slot[r]] = sampled[r] where slot[r] is in [0, slots).
struct KeepTokens {
  const std::int32_t* sampled = nullptr;  ///< [rows]
  const std::int32_t* slot = nullptr;     ///< [rows], no slot twice
  std::int32_t* drawn = nullptr;          ///< [slots]
  std::int64_t rows = 0;
  std::int64_t slots = 0;
  const bool* gate = nullptr;  ///< null: always
};
void keep_tokens(const KeepTokens& args, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
