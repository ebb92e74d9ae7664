#pragma once

#include "base/setting.h"
#include "ir/element.h"

#include <array>
#include <cstdint>

namespace parhelion::train {

/// How trained numbers are stored.
enum class NumberFormat : std::uint8_t { f32, bf16 };
constexpr auto choices(const NumberFormat*) {
  return std::array{choice("f32", NumberFormat::f32), choice("bf16", NumberFormat::bf16)};
}

/// The element kind that programs have for it.
constexpr ir::Kind kind(NumberFormat format) {
  return format == NumberFormat::f32 ? ir::Kind::f32 : ir::Kind::bf16;
}

}  // namespace parhelion::train
