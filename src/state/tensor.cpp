#include "state/tensor.h"

#include <fmt/format.h>

namespace parhelion::state {
namespace {

bool multiply(std::int64_t& product, std::int64_t factor) {
  return !__builtin_mul_overflow(product, factor, &product);
}

}  // namespace

std::optional<std::int64_t> element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool fits = true;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    empty = empty || extent == 0;
    fits = fits && multiply(count, extent);
  }
  if (empty) return 0;
  if (!fits) return std::nullopt;
  return count;
}

std::optional<std::int64_t> byte_count(ir::Kind kind, const Shape& shape) {
  const ir::Element element = ir::element(kind);
  const std::optional<std::int64_t> elements = element_count(shape);
  if (!elements) return std::nullopt;
  const std::int64_t row = shape.empty() ? 1 : shape.back();
  if (row % element.block_elements != 0) return std::nullopt;
  std::int64_t bytes = *elements / element.block_elements;
  if (!multiply(bytes, element.block_bytes)) return std::nullopt;
  return bytes;
}

std::string shape_text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::string names_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMostNames = 100;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMostNames; ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", names[i]);
  if (names.size() > kMostNames) text += fmt::format(" and {} more", names.size() - kMostNames);
  return text;
}

}  // namespace parhelion::state
