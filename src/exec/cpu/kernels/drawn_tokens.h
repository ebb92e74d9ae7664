#pragma once

#include <cstdint>

namespace parhelion::exec::cpu {

/// y[t] = max(drawn[source[t]], 0) where source[t] is in [0, slots), else ids[t].
struct FeedTokens {
  const std::int32_t* ids = nullptr;     ///< [tokens]
  const std::int32_t* source = nullptr;  ///< [tokens]
  const std::int32_t* drawn = nullptr;   ///< [slots]
  std::int32_t* y = nullptr;             ///< [tokens]
  std::int64_t tokens = 0;
  std::int64_t slots = 0;
};
void feed_tokens(const FeedTokens& args);

/// drawn[slot[r]] = sampled[r] where slot[r] is in [0, slots).
struct KeepTokens {
  const std::int32_t* sampled = nullptr;  ///< [rows]
  const std::int32_t* slot = nullptr;     ///< [rows], no slot twice
  std::int32_t* drawn = nullptr;          ///< [slots]
  std::int64_t rows = 0;
  std::int64_t slots = 0;
};
void keep_tokens(const KeepTokens& args);

}  // namespace parhelion::exec::cpu
