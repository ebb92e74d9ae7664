#include "exec/cpu/kernels/embedding.h"

#include "exec/cpu/kernels/parallel.h"
#include "exec/cpu/kernels/storage.h"

#include <algorithm>
#include <cstring>

namespace parhelion::exec::cpu {
namespace {

bool is_in_vocabulary(std::int32_t id, std::int64_t vocabulary) {
  return id >= 0 && id < vocabulary;
}

template <class T>
void embedding_rows(const Embedding& args, std::int64_t begin, std::int64_t end) {
  const auto bytes = static_cast<std::size_t>(args.hidden) * sizeof(T);
  for (std::int64_t t = begin; t < end; ++t) {
    T* y = static_cast<T*>(args.y) + t * args.hidden;
    const std::int32_t id = args.ids[t];
    if (is_in_vocabulary(id, args.vocabulary)) {
      std::memcpy(y, static_cast<const T*>(args.table) + id * args.hidden, bytes);
    } else {
      std::fill_n(y, args.hidden, T{});
    }
  }
}

/// Columns [begin, end) of every row: threads own columns, so each sum is in token order.
template <class T>
void embedding_grad_columns(const EmbeddingGrad& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t t = 0; t < args.tokens; ++t) {
    const std::int32_t id = args.ids[t];
    if (!is_in_vocabulary(id, args.vocabulary)) continue;
    const T* dy = static_cast<const T*>(args.dy) + t * args.hidden;
    float* acc = args.acc + id * args.hidden;
    for (std::int64_t c = begin; c < end; ++c) acc[c] += widen(dy[c]);
  }
}

}  // namespace

void embedding(const Embedding& args, int threads) {
  with_storage(args.kind, [&](auto type) {
    parallel_ranges(args.tokens, grain_of(args.hidden), threads,
                    [&](std::int64_t begin, std::int64_t end) {
                      embedding_rows<decltype(type)>(args, begin, end);
                    });
  });
}

void embedding_grad(const EmbeddingGrad& args, int threads) {
  with_storage(args.kind, [&](auto type) {
    parallel_ranges(args.hidden, grain_of(args.tokens), threads,
                    [&](std::int64_t begin, std::int64_t end) {
                      embedding_grad_columns<decltype(type)>(args, begin, end);
                    });
  });
}

}  // namespace parhelion::exec::cpu
