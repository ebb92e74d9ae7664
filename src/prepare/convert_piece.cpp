#include "prepare/convert_piece.h"

#include "state/convert.h"

#include <algorithm>
#include <cmath>

namespace parhelion::prepare {
namespace {

std::size_t bytes_of(ir::Kind kind, std::int64_t elements) {
  const ir::Element format = ir::element(kind);
  return static_cast<std::size_t>(elements / format.block_elements * format.block_bytes);
}

std::span<std::byte> first_bytes(std::vector<float>& values, std::int64_t elements) {
  return std::as_writable_bytes(std::span(values).first(static_cast<std::size_t>(elements)));
}

}  // namespace

PieceConverter::PieceConverter(ir::Kind from, ir::Kind to)
    : from_(from),
      to_(to),
      before_(static_cast<std::size_t>(kPieceElements)),
      after_(from == to ? 0 : static_cast<std::size_t>(kPieceElements)) {}

std::span<const std::byte> PieceConverter::convert(std::span<const std::byte> piece,
                                                   std::int64_t elements) {
  converted_.resize(bytes_of(to_, elements));
  state::convert(from_, piece, to_, converted_);
  state::convert(from_, piece, ir::Kind::f32, first_bytes(before_, elements));
  if (from_ != to_) state::convert(to_, converted_, ir::Kind::f32, first_bytes(after_, elements));
  compare(elements);
  return converted_;
}

void PieceConverter::compare(std::int64_t elements) {
  const auto count = static_cast<std::size_t>(elements);
  const std::vector<float>& after = from_ == to_ ? before_ : after_;
  float largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool was_finite = std::isfinite(before_[i]);
    const bool is_finite = std::isfinite(after[i]);
    changes_.non_finite += was_finite ? 0 : 1;
    changes_.overflows += was_finite && !is_finite ? 1 : 0;
    const float error = std::abs(after[i] - before_[i]);
    largest = is_finite && error > largest ? error : largest;
  }
  changes_.largest_error = std::max(changes_.largest_error, static_cast<double>(largest));
}

}  // namespace parhelion::prepare
