#include "exec/cpu/kernels/copy_pages.h"

#include "exec/cpu/kernels/parallel.h"

#include <cstring>

namespace parhelion::exec::cpu {

void copy_pages(const CopyPages& args, int threads) {
  parallel_ranges(args.lanes, grain_of(args.page_bytes / 4), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t lane = begin; lane < end; ++lane) {
                      const std::int64_t from = args.source[lane];
                      const std::int64_t to = args.destination[lane];
                      const bool copies = from >= 0 && from < args.page_count && to >= 1 &&
                                          to < args.page_count && from != to;
                      if (!copies) continue;
                      std::memcpy(args.pages + to * args.page_bytes,
                                  args.pages + from * args.page_bytes,
                                  static_cast<std::size_t>(args.page_bytes));
                    }
                  });
}

}  // namespace parhelion::exec::cpu
