#include "exec/cpu/kernels/page_write.h"

#include "exec/cpu/kernels/parallel.h"
#include "exec/cpu/kernels/storage.h"

#include <cstring>

namespace parhelion::exec::cpu {

void page_write(const PageWrite& args, int threads) {
  with_storage(args.kind, [&](auto type) {
    using T = decltype(type);
    const auto bytes = static_cast<std::size_t>(args.row) * sizeof(T);
    parallel_ranges(args.tokens, grain_of(args.row), threads,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t t = begin; t < end; ++t) {
                        const std::int64_t location = args.location[t];
                        if (location < 0 || location >= args.capacity) continue;
                        std::memcpy(static_cast<T*>(args.pages) + location * args.row,
                                    static_cast<const T*>(args.x) + t * args.x_stride, bytes);
                      }
                    });
  });
}

}  // namespace parhelion::exec::cpu
