#include "ir/element.h"

#include "base/error.h"

#include <algorithm>
#include <array>

namespace parhelion::ir {
namespace {

struct KindRow {
  Kind kind;
  std::string_view name;
  std::int32_t block_elements;
  std::int32_t block_bytes;
  bool real;
};

constexpr std::array kKinds = {
    KindRow{Kind::f32, "f32", 1, 4, true},       KindRow{Kind::bf16, "bf16", 1, 2, true},
    KindRow{Kind::f16, "f16", 1, 2, true},       KindRow{Kind::f64, "f64", 1, 8, true},
    KindRow{Kind::i8, "i8", 1, 1, false},        KindRow{Kind::u8, "u8", 1, 1, false},
    KindRow{Kind::i32, "i32", 1, 4, false},      KindRow{Kind::i64, "i64", 1, 8, false},
    KindRow{Kind::u64, "u64", 1, 8, false},      KindRow{Kind::bool8, "bool8", 1, 1, false},
    KindRow{Kind::q8_0, "q8_0", 32, 34, true},   KindRow{Kind::q4_0, "q4_0", 32, 18, true},
    KindRow{Kind::q4_1, "q4_1", 32, 20, true},   KindRow{Kind::q5_0, "q5_0", 32, 22, true},
    KindRow{Kind::q5_1, "q5_1", 32, 24, true},   KindRow{Kind::q4_k, "q4_k", 256, 144, true},
    KindRow{Kind::q5_k, "q5_k", 256, 176, true}, KindRow{Kind::q6_k, "q6_k", 256, 210, true},
};

const KindRow& row(Kind kind) {
  const auto at = std::ranges::find(kKinds, kind, &KindRow::kind);
  ensure(at != kKinds.end(), ErrorKind::bug, "element: kind {} has no row", static_cast<int>(kind));
  return *at;
}

}  // namespace

Element element(Kind kind) { return {kind, row(kind).block_elements, row(kind).block_bytes}; }

std::string_view name(Kind kind) { return row(kind).name; }

std::optional<Kind> kind_from_name(std::string_view text) {
  const auto at = std::ranges::find(kKinds, text, &KindRow::name);
  if (at == kKinds.end()) return std::nullopt;
  return at->kind;
}

bool is_plain(Kind kind) { return row(kind).block_elements == 1; }

bool is_real(Kind kind) { return row(kind).real; }

}  // namespace parhelion::ir
