#pragma once

#include "base/bf16.h"
#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace parhelion::test {

inline double value_of(float value) { return static_cast<double>(value); }
inline double value_of(BFloat16 value) { return static_cast<double>(to_float(value)); }

template <class T>
T stored(float value) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return value;
  } else {
    return to_bfloat16(value);
  }
}

/// A row-major buffer between guard bytes, which the destructor checks.
template <class T>
class Tensor {
 public:
  explicit Tensor(std::int64_t count, T fill = T{})
      : storage_(static_cast<std::size_t>(count + 2 * kGuards), fill), count_(count) {
    for (const std::int64_t first : {std::int64_t{0}, kGuards + count}) {
      std::memset(static_cast<void*>(storage_.data() + first), kGuard, kGuards * sizeof(T));
    }
  }
  ~Tensor() { expect_guards(); }
  Tensor(const Tensor&) = default;
  Tensor& operator=(const Tensor&) = default;

  T* data() { return storage_.data() + kGuards; }
  const T* data() const { return storage_.data() + kGuards; }
  std::int64_t size() const { return count_; }
  T& operator[](std::int64_t i) { return data()[i]; }
  const T& operator[](std::int64_t i) const { return data()[i]; }
  double at(std::int64_t i) const { return value_of(data()[i]); }

  void expect_guards() const {
    const auto is_guard = [](unsigned char byte) { return byte == kGuard; };
    for (const std::int64_t first : {std::int64_t{0}, kGuards + count_}) {
      const auto* bytes = reinterpret_cast<const unsigned char*>(storage_.data() + first);
      EXPECT_TRUE(
          std::all_of(bytes, bytes + kGuards * static_cast<std::int64_t>(sizeof(T)), is_guard))
          << "bytes " << (first == 0 ? "before" : "behind") << " were written";
    }
  }

 private:
  static constexpr unsigned char kGuard = 0xa5;
  static constexpr std::int64_t kGuards = 32;
  std::vector<T> storage_;
  std::int64_t count_;
};

/// Standard normal numbers times `scale`, a function of the seed.
template <class T>
Tensor<T> normal_tensor(std::int64_t count, std::uint64_t seed, float scale = 1.0f) {
  Tensor<T> tensor(count);
  for (std::int64_t i = 0; i < count; ++i) {
    tensor[i] = stored<T>(scale * normal(seed, 0, static_cast<std::uint64_t>(i)));
  }
  return tensor;
}

/// True if `count` elements have equal bytes; the failure names the first that differs.
template <class T>
testing::AssertionResult same_bits(const T* a, const T* b, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::memcmp(a + i, b + i, sizeof(T)) == 0) continue;
    return testing::AssertionFailure() << "element " << i << " of " << count << " is "
                                       << value_of(a[i]) << " against " << value_of(b[i]);
  }
  return testing::AssertionSuccess();
}

template <class T>
testing::AssertionResult same_bits(const Tensor<T>& a, const Tensor<T>& b) {
  if (a.size() != b.size()) return testing::AssertionFailure() << "sizes differ";
  return same_bits(a.data(), b.data(), a.size());
}

/// How far a kernel may be from the real number: roundings of storage, and of f32 sums of `terms`.
template <class T>
double tolerance(std::int64_t terms) {
  const double sums = 0x1p-22 * (4.0 + std::sqrt(static_cast<double>(terms)));
  return sizeof(T) == sizeof(float) ? sums : sums + 0x1.4p-8;
}

/// True if each element is near expected(i), relative to max(1, |expected|).
template <class T, class Expected>
testing::AssertionResult is_near(const Tensor<T>& actual, const Expected& expected, double bound) {
  for (std::int64_t i = 0; i < actual.size(); ++i) {
    const double want = expected(i);
    if (std::abs(actual.at(i) - want) <= bound * std::max(1.0, std::abs(want))) continue;
    return testing::AssertionFailure() << "element " << i << " of " << actual.size() << " is "
                                       << actual.at(i) << ", expected " << want;
  }
  return testing::AssertionSuccess();
}

}  // namespace parhelion::test
