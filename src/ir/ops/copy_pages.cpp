#include "ir/ops/copy_pages.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"

namespace parhelion::ir {

Traits traits(const CopyPages&) {
  return {.family = 39,
          .name = "copy_pages",
          .ties = {{.input = 2, .output = 0}},
          .effect = Effect::state};
}

// The last dim of a block format can be cut between blocks alone, which a factor cannot say.
std::vector<Factor> factors(const CopyPages&, Types inputs) {
  const TensorType& pages = inputs[2];
  std::vector<Factor> result = {{.input_dim = {0, 0, -1}, .output_dim = {-1}, .how = Fold::whole},
                                {.input_dim = {-1, -1, 0}, .output_dim = {0}, .how = Fold::whole}};
  for (std::size_t dim = 1; dim < pages.rank(); ++dim) {
    const bool is_cut = is_plain(pages.kind()) || dim + 1 < pages.rank();
    const auto at = static_cast<std::int8_t>(dim);
    result.push_back({.input_dim = {-1, -1, at},
                      .output_dim = {at},
                      .how = is_cut ? Fold::parallel : Fold::whole});
  }
  return result;
}

std::vector<TensorType> infer(const CopyPages&, Types inputs) {
  check_arity("copy_pages", inputs, 3);
  check_rank("copy_pages C1", "source", inputs[0], 1);
  check_kind("copy_pages C1", "source", inputs[0], Kind::i32);
  check_type("copy_pages C2", "destination", inputs[1], inputs[0]);
  ensure(inputs[2].rank() >= 2, ErrorKind::invalid,
         "copy_pages C3: rank(pages) is {}, expected 2 or more", inputs[2].rank());
  return {inputs[2]};
}

void gradient(const CopyPages&, GradientContext&) {
  fail(ErrorKind::invalid, "copy_pages: has no gradient");
}

Cost cost(const CopyPages&, Types inputs, Types) {
  const auto lanes = static_cast<double>(element_count(inputs[0]));
  return {.flops = 0, .bytes = 2.0 * lanes * static_cast<double>(page_bytes(inputs[2]))};
}

std::int64_t page_bytes(TensorType pages) {
  pages.shape[0] = 1;
  return byte_count(pages);
}

}  // namespace parhelion::ir
