#include "support/conformance/parts.h"

#include <algorithm>
#include <optional>

namespace parhelion::test {
namespace {

/// Attributes that hold the extent of a factor's dim of the first output follow it.
struct Restriction {
  std::size_t output_dim;
  Part part;
  std::size_t whole_rank;

  template <class Family>
  std::optional<ir::Op> operator()(const Family& op) const {
    return op;
  }
  std::optional<ir::Op> operator()(ir::Fill op) const {
    op.shape[output_dim] = part.end - part.begin;
    return op;
  }
  std::optional<ir::Op> operator()(ir::Broadcast op) const {
    const std::size_t old_rank = whole_rank - op.shape.size();
    if (output_dim < old_rank) return op;
    op.shape[output_dim - old_rank] = part.end - part.begin;
    return op;
  }
  std::optional<ir::Op> operator()(ir::RopeTable op) const {
    if (part.begin != 0) return std::nullopt;
    op.positions = part.end;
    return op;
  }
};

std::vector<ir::TensorType> types_of(const std::vector<Wide>& tensors) {
  std::vector<ir::TensorType> types;
  types.reserve(tensors.size());
  for (const Wide& tensor : tensors) types.push_back(tensor.type);
  return types;
}

/// The extents that `dims` picks from `types`.
void collect_extents(const std::vector<ir::TensorType>& types, const std::vector<std::int8_t>& dims,
                     std::vector<std::int64_t>& extents) {
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (dims[i] >= 0) extents.push_back(types[i].shape[static_cast<std::size_t>(dims[i])].base);
  }
}

/// 0 where no operand runs over the factor.
std::int64_t unit_count(const Case& whole, const ir::Factor& factor) {
  const std::vector<ir::TensorType> inputs = types_of(whole.inputs);
  std::vector<std::int64_t> extents;
  collect_extents(inputs, factor.input_dim, extents);
  collect_extents(ir::infer(whole.op, inputs), factor.output_dim, extents);
  return extents.empty() ? 0 : *std::ranges::min_element(extents);
}

std::vector<Part> parts_of(std::int64_t count) {
  if (count < 2) return {};
  return {{0, count / 2, count},
          {count / 3, count / 3 + (count + 2) / 3, count},
          {count - 1, count, count}};
}

/// None where no attributes say that part.
std::optional<Case> restricted(const Case& whole, const ir::Factor& factor, const Part& part) {
  const auto output_dim = static_cast<std::size_t>(std::int64_t{factor.output_dim[0]});
  const std::size_t rank = ir::infer(whole.op, types_of(whole.inputs)).front().rank();
  const std::optional<ir::Op> op = std::visit(Restriction{output_dim, part, rank}, whole.op);
  if (!op) return std::nullopt;
  Case result = whole;
  result.op = *op;
  for (std::size_t i = 0; i < result.inputs.size(); ++i) {
    if (factor.input_dim[i] < 0) continue;
    result.inputs[i] = slice(whole.inputs[i], static_cast<std::size_t>(factor.input_dim[i]), part);
  }
  return result;
}

/// Documents end where the tokens do.
PartCase token_prefix(const Case& whole, std::int64_t tokens) {
  const Part part{0, tokens, whole.inputs[0].dim(0)};
  PartCase result{whole, part, {0, 0}};
  std::vector<Wide>& inputs = result.test.inputs;
  for (std::size_t i = 0; i < 3; ++i) inputs[i] = slice(inputs[i], 0, part);
  for (double& each : inputs[3].values) each = std::min(each, static_cast<double>(tokens));
  return result;
}

PartCase row_prefix(const Case& whole, std::int64_t rows) {
  const auto tokens = static_cast<std::int64_t>(whole.inputs[4][rows]);
  const std::int64_t all_rows = whole.inputs[3].dim(0);
  PartCase result{whole, {0, tokens, whole.inputs[0].dim(0)}, {0}};
  std::vector<Wide>& inputs = result.test.inputs;
  inputs[0] = slice(inputs[0], 0, result.part);
  inputs[3] = slice(inputs[3], 0, {0, rows, all_rows});
  inputs[4] = slice(inputs[4], 0, {0, rows + 1, all_rows + 1});
  inputs[5] = slice(inputs[5], 0, {0, rows, all_rows});
  return result;
}

PartCase edited_row_prefix(const Case& whole, std::int64_t rows) {
  const std::int64_t all_rows = whole.inputs[0].dim(0);
  PartCase result{whole, {0, rows, all_rows}, {0}};
  std::vector<Wide>& inputs = result.test.inputs;
  inputs[0] = slice(inputs[0], 0, result.part);
  inputs[1] = slice(inputs[1], 0, {0, rows + 1, all_rows + 1});
  inputs[6] = slice(inputs[6], 0, result.part);
  return result;
}

}  // namespace

Wide slice(const Wide& tensor, std::size_t dim, const Part& part) {
  const std::int64_t extent = tensor.dim(dim);
  const std::int64_t begin = extent / part.count * part.begin;
  const std::int64_t end = extent / part.count * part.end;
  std::int64_t inner = 1;
  for (std::size_t i = dim + 1; i < tensor.type.rank(); ++i) inner *= tensor.dim(i);
  Wide result{tensor.type, {}};
  result.type.shape[dim] = end - begin;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const std::int64_t index = i / inner % extent;
    if (index >= begin && index < end) result.values.push_back(tensor[i]);
  }
  return result;
}

std::vector<PartCase> part_cases(const Case& whole) {
  std::vector<PartCase> result;
  for (const ir::Factor& factor : ir::factors(whole.op, types_of(whole.inputs))) {
    if (factor.how != ir::Fold::parallel) continue;
    for (const Part& part : parts_of(unit_count(whole, factor))) {
      std::optional<Case> test = restricted(whole, factor, part);
      if (test) result.push_back({std::move(*test), part, factor.output_dim});
    }
  }
  return result;
}

std::vector<PartCase> prefix_cases(const Case& whole) {
  if (std::holds_alternative<ir::Attention>(whole.op)) {
    const std::int64_t tokens = whole.inputs[0].dim(0) / 2;
    if (tokens > 0) return {token_prefix(whole, tokens)};
  }
  if (std::holds_alternative<ir::PagedAttention>(whole.op)) {
    const std::int64_t rows = (whole.inputs[3].dim(0) + 1) / 2;
    if (rows < whole.inputs[3].dim(0)) return {row_prefix(whole, rows)};
  }
  if (std::holds_alternative<ir::EditLogits>(whole.op)) {
    const std::int64_t rows = (whole.inputs[0].dim(0) + 1) / 2;
    if (rows < whole.inputs[0].dim(0)) return {edited_row_prefix(whole, rows)};
  }
  return {};
}

}  // namespace parhelion::test
