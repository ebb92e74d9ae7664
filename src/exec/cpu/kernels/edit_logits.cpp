#include "exec/cpu/kernels/edit_logits.h"

#include "exec/cpu/kernels/parallel.h"
#include "ir/ops/edit_logits.h"

#include <bit>
#include <limits>

namespace parhelion::exec::cpu {
namespace {

constexpr std::uint32_t kEveryMaskBit = ~std::uint32_t{0};

/// One row of the operands.
struct EditRow {
  const float* x;
  const std::int32_t* mask;
  float* y;

  std::uint32_t word(std::int64_t index) const { return std::bit_cast<std::uint32_t>(mask[index]); }
  bool allows(std::int64_t id) const {
    return (word(id / ir::kMaskBits) >> (id % ir::kMaskBits) & 1) != 0;
  }
};

void edit_logits_mask(const EditRow& row, std::int64_t vocabulary) {
  for (std::int64_t first = 0; first < vocabulary; first += ir::kMaskBits) {
    const std::int64_t end = std::min(first + ir::kMaskBits, vocabulary);
    if (row.word(first / ir::kMaskBits) == kEveryMaskBit) {
      std::copy(row.x + first, row.x + end, row.y + first);
      continue;
    }
    for (std::int64_t id = first; id < end; ++id)
      row.y[id] = row.allows(id) ? row.x[id] : -std::numeric_limits<float>::infinity();
  }
}

float edited_logit(const EditLogits& args, std::int64_t edit, float x) {
  const float biased = x + args.bias[edit];
  const float scale = args.scale[edit];
  return (biased > 0.0f ? biased / scale : biased * scale) - args.subtract[edit];
}

void edit_logits_row(const EditLogits& args, std::int64_t r) {
  const EditRow row{.x = args.logits + r * args.vocabulary,
                    .mask = args.mask + r * ir::mask_words(args.vocabulary),
                    .y = args.y + r * args.vocabulary};
  edit_logits_mask(row, args.vocabulary);
  const std::int64_t begin = std::clamp<std::int64_t>(args.indptr[r], 0, args.edits);
  const std::int64_t end = std::clamp<std::int64_t>(args.indptr[r + 1], 0, args.edits);
  for (std::int64_t edit = begin; edit < end; ++edit) {
    const std::int64_t id = args.ids[edit];
    if (id < 0 || id >= args.vocabulary || !row.allows(id)) continue;
    row.y[id] = edited_logit(args, edit, row.x[id]);
  }
}

}  // namespace

void edit_logits(const EditLogits& args, int threads) {
  parallel_ranges(args.rows, grain_of(args.vocabulary), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t r = begin; r < end; ++r) edit_logits_row(args, r);
                  });
}

}  // namespace parhelion::exec::cpu
