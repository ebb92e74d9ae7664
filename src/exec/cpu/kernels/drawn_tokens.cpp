#include "exec/cpu/kernels/drawn_tokens.h"

#include <algorithm>

namespace parhelion::exec::cpu {

void feed_tokens(const FeedTokens& args) {
  for (std::int64_t t = 0; t < args.tokens; ++t) {
    const std::int64_t slot = args.source[t];
    const bool is_drawn = slot >= 0 && slot < args.slots;
    args.y[t] = is_drawn ? std::max(args.drawn[slot], 0) : args.ids[t];
  }
}

void keep_tokens(const KeepTokens& args) {
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const std::int64_t slot = args.slot[r];
    if (slot >= 0 && slot < args.slots) args.drawn[slot] = args.sampled[r];
  }
}

}  // namespace parhelion::exec::cpu
