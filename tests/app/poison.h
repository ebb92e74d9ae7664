#pragma once

#include "exec/executor.h"
#include "model/open.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace parhelion::app {

/// Makes the embedding of an id NaN.
inline void poison_embedding(const model::Model& model, std::size_t id, exec::Executor& executor) {
  constexpr std::string_view kName = "model.embed_tokens.weight";
  const auto kept = executor.download(kName);
  const std::vector<std::byte> all(kept.begin(), kept.end());
  const std::size_t row = all.size() / static_cast<std::size_t>(model.vocabulary);
  executor.upload(kName, [&](std::span<std::byte> bytes) {
    std::ranges::copy(all, bytes.begin());
    std::ranges::fill(bytes.subspan(id * row, row), std::byte{0xff});
  });
}

}  // namespace parhelion::app
