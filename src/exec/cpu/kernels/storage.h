#pragma once

#include "base/bf16.h"
#include "base/error.h"
#include "ir/element.h"

namespace parhelion::exec::cpu {

using ir::Kind;

/// Calls f with a value of the type that stores `kind`: float or BFloat16.
///
/// Errors: bug for any other kind, since planning refuses it.
template <class F>
void with_storage(Kind kind, const F& f) {
  if (kind == Kind::f32) return f(float{});
  if (kind == Kind::bf16) return f(BFloat16{});
  fail(ErrorKind::bug, "cpu kernel: storage is {}, expected f32 or bf16", ir::name(kind));
}

inline float widen(float value) { return value; }
inline float widen(BFloat16 value) { return to_float(value); }

/// Rounds to the storage type.
template <class T>
T narrow(float value) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return value;
  } else {
    return to_bfloat16(value);
  }
}

}  // namespace parhelion::exec::cpu
