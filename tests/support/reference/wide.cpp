#include "support/reference/wide.h"

#include "base/bf16.h"
#include "base/error.h"

#include <cstring>

namespace parhelion::test {
namespace {

template <class T>
double wide_load(T value) {
  return static_cast<double>(value);
}
double wide_load(BFloat16 value) { return static_cast<double>(to_float(value)); }

template <class T>
T wide_store(double value) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return to_bfloat16(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

/// Calls f(T{}) with the storage type of `kind`.
template <class F>
void with_stored_type(ir::Kind kind, const F& f) {
  if (kind == ir::Kind::f32) return f(float{});
  if (kind == ir::Kind::bf16) return f(BFloat16{});
  if (kind == ir::Kind::i32) return f(std::int32_t{});
  if (kind == ir::Kind::i64) return f(std::int64_t{});
  if (kind == ir::Kind::u64) return f(std::uint64_t{});
  if (kind == ir::Kind::bool8) return f(std::uint8_t{});
  fail(ErrorKind::bug, "reference: has no tensors of {}", ir::name(kind));
}

}  // namespace

Wide zeros(const ir::TensorType& type) {
  return {type, std::vector<double>(static_cast<std::size_t>(ir::element_count(type)))};
}

double rounded(ir::Kind kind, double value) {
  double result = 0;
  with_stored_type(kind, [&](auto type) { result = wide_load(wide_store<decltype(type)>(value)); });
  return result;
}

double rounded_as_named(ir::Kind kind, double value) {
  return kind == ir::Kind::bf16 ? rounded(kind, value) : value;
}

Wide from_bytes(const ir::TensorType& type, std::span<const std::byte> bytes) {
  Wide result = zeros(type);
  with_stored_type(type.kind(), [&](auto stored) {
    for (std::int64_t i = 0; i < result.size(); ++i) {
      std::memcpy(&stored, bytes.data() + static_cast<std::size_t>(i) * sizeof stored,
                  sizeof stored);
      result[i] = wide_load(stored);
    }
  });
  return result;
}

void to_bytes(const Wide& tensor, std::span<std::byte> bytes) {
  with_stored_type(tensor.kind(), [&](auto stored) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      stored = wide_store<decltype(stored)>(tensor[i]);
      std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof stored, &stored,
                  sizeof stored);
    }
  });
}

}  // namespace parhelion::test
