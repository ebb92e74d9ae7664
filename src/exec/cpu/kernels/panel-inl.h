// A small matrix product whose every element is one fma chain, for attention and its gradient.

// clang-format off
#if defined(PARHELION_EXEC_CPU_KERNELS_PANEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PARHELION_EXEC_CPU_KERNELS_PANEL_INL_H_
#undef PARHELION_EXEC_CPU_KERNELS_PANEL_INL_H_
#else
#define PARHELION_EXEC_CPU_KERNELS_PANEL_INL_H_
#endif
// clang-format on

#include "exec/cpu/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {

constexpr std::int64_t kPanelRows = 6;
constexpr std::int64_t kPanelVectors = kLanes == 16 ? 4 : 2;

enum class PanelStart : std::uint8_t { zero, c };

/// c[m, n] = start + sum over k ascending of a(m)[k * a_step] * b(k)[n], each element one fma
/// chain.
///
/// `A` maps a row to its first element, `B` an index k to a row of at least `cols` floats.
template <class A, class B>
struct PanelProduct {
  A a;
  std::int64_t a_step;
  B b;
  std::int64_t k_begin;
  std::int64_t k_end;
  float* c;
  std::int64_t c_stride;
};

/// Rows [row, row + kRows) and kVectors vectors of columns at `col`.
template <PanelStart kStart, std::int64_t kRows, std::int64_t kVectors, class D, class Product>
HWY_INLINE void panel_block(D d, const Product& product, std::int64_t row, std::int64_t col) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  const std::int64_t a_step = product.a_step;
  hn::Vec<D> sum[std::size_t{kRows}][std::size_t{kVectors}];
  const float* a[std::size_t{kRows}];
#pragma GCC unroll 8
  for (std::int64_t m = 0; m < kRows; ++m) {
    a[m] = product.a(row + m) + product.k_begin * a_step;
#pragma GCC unroll 4
    for (std::int64_t v = 0; v < kVectors; ++v) {
      const float* c = product.c + (row + m) * product.c_stride + col + v * lanes;
      sum[m][v] = kStart == PanelStart::zero ? hn::Zero(d) : hn::LoadU(d, c);
    }
  }
  for (std::int64_t k = product.k_begin; k < product.k_end; ++k) {
    const float* b = product.b(k) + col;
    hn::Vec<D> right[std::size_t{kVectors}];
#pragma GCC unroll 4
    for (std::int64_t v = 0; v < kVectors; ++v) right[v] = hn::LoadU(d, b + v * lanes);
#pragma GCC unroll 8
    for (std::int64_t m = 0; m < kRows; ++m) {
      const hn::Vec<D> left = hn::Set(d, *a[m]);
      a[m] += a_step;
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < kVectors; ++v) sum[m][v] = hn::MulAdd(left, right[v], sum[m][v]);
    }
  }
#pragma GCC unroll 8
  for (std::int64_t m = 0; m < kRows; ++m) {
#pragma GCC unroll 4
    for (std::int64_t v = 0; v < kVectors; ++v) {
      hn::StoreU(sum[m][v], d, product.c + (row + m) * product.c_stride + col + v * lanes);
    }
  }
}

/// All columns of rows [row, row + kRows): wide vectors first, then 4 lanes, then 1.
template <PanelStart kStart, std::int64_t kRows, class Product>
HWY_NOINLINE void panel_rows(const Product& product, std::int64_t row, std::int64_t cols) {
  const F32 wide;
  const hn::CappedTag<float, 4> quad;
  const hn::CappedTag<float, 1> single;
  std::int64_t col = 0;
  for (; col + kPanelVectors * kLanes <= cols; col += kPanelVectors * kLanes) {
    panel_block<kStart, kRows, kPanelVectors>(wide, product, row, col);
  }
  for (; col + kLanes <= cols; col += kLanes)
    panel_block<kStart, kRows, 1>(wide, product, row, col);
  for (; col + 4 <= cols; col += 4) panel_block<kStart, kRows, 1>(quad, product, row, col);
  for (; col < cols; ++col) panel_block<kStart, kRows, 1>(single, product, row, col);
}

/// Rows [row_begin, row_end), all columns.
template <PanelStart kStart, class Product>
HWY_INLINE void panel_multiply(const Product& product, std::int64_t row_begin, std::int64_t row_end,
                               std::int64_t cols) {
  std::int64_t row = row_begin;
  for (; row + kPanelRows <= row_end; row += kPanelRows) {
    panel_rows<kStart, kPanelRows>(product, row, cols);
  }
  for (; row + 3 <= row_end; row += 3) panel_rows<kStart, 3>(product, row, cols);
  for (; row < row_end; ++row) panel_rows<kStart, 1>(product, row, cols);
}

}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PARHELION_EXEC_CPU_KERNELS_PANEL_INL_H_
