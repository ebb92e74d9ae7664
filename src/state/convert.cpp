#include "state/convert.h"

#include "base/bf16.h"
#include "base/error.h"
#include "base/parallel.h"
#include "state/dequantise.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace parhelion::state {
namespace {

/// Elements converted at a time, so that the f32 values between stay in the first cache.
constexpr std::int64_t kConvertChunk = 2048;
constexpr std::int64_t kChunksWorthAThread = 256;

using ConvertBuffer = std::array<float, kConvertChunk>;

/// Exact. A half's bits, moved to the place of an f32's, are its value times 2^-112, subnormals
/// included; only infinities and NaN need another exponent.
float widen_half(std::uint16_t bits) {
  const std::uint32_t magnitude = std::uint32_t{bits & 0x7fffu} << 13;
  const std::uint32_t finite =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  const std::uint32_t special = magnitude | 0x7f800000u;
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
  return std::bit_cast<float>(sign | (magnitude >= 0x0f800000u ? special : finite));
}

/// Rounds to nearest, ties to even, all cases computed so that loops over it vectorise.
std::uint16_t narrow_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  // Adding 1/2 leaves the subnormal's multiple of 2^-24, rounded, in the low bits of the sum.
  const float magic = std::bit_cast<float>(std::min(magnitude, 0x38800000u)) + 0.5f;
  const std::uint32_t small = std::bit_cast<std::uint32_t>(magic) - 0x3f000000u;
  const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const std::uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  std::uint32_t half = magnitude < 0x38800000u ? small : normal;
  half = magnitude >= 0x47800000u ? 0x7c00u : half;
  half = magnitude > 0x7f800000u ? nan : half;
  return static_cast<std::uint16_t>(sign | half);
}

template <class T>
T load_element(const std::byte* from, std::int64_t index) {
  T value;
  std::memcpy(&value, from + index * std::int64_t{sizeof value}, sizeof value);
  return value;
}

/// Widens `count` elements, a whole number of blocks, to f32.
void widen(ir::Kind kind, const std::byte* in, std::int64_t count, float* out) {
  if (kind == ir::Kind::f32) {
    std::memcpy(out, in, static_cast<std::size_t>(count) * sizeof(float));
  } else if (kind == ir::Kind::bf16) {
    for (std::int64_t i = 0; i < count; ++i)
      out[i] = to_float(BFloat16{load_element<std::uint16_t>(in, i)});
  } else if (kind == ir::Kind::f16) {
    for (std::int64_t i = 0; i < count; ++i)
      out[i] = widen_half(load_element<std::uint16_t>(in, i));
  } else {
    dequantise(kind, in, count / ir::element(kind).block_elements, out);
  }
}

/// Writes `count` f32 values as a plain kind.
void narrow(ir::Kind kind, const float* in, std::int64_t count, std::byte* out) {
  if (kind == ir::Kind::f32) {
    std::memcpy(out, in, static_cast<std::size_t>(count) * sizeof(float));
    return;
  }
  std::array<std::uint16_t, kConvertChunk> halves;
  if (kind == ir::Kind::bf16) {
    for (std::int64_t i = 0; i < count; ++i)
      halves[static_cast<std::size_t>(i)] = to_bfloat16(in[i]).bits;
  } else {
    for (std::int64_t i = 0; i < count; ++i)
      halves[static_cast<std::size_t>(i)] = narrow_half(in[i]);
  }
  std::memcpy(out, halves.data(), static_cast<std::size_t>(count) * sizeof(std::uint16_t));
}

bool is_narrow_float(ir::Kind kind) {
  return kind == ir::Kind::f32 || kind == ir::Kind::bf16 || kind == ir::Kind::f16;
}

bool is_quantised(ir::Kind kind) { return !ir::is_plain(kind); }

/// The number of elements, checked on both sides.
std::int64_t converted_count(ir::Element from, std::size_t in, ir::Element to, std::size_t out) {
  const auto from_bytes = static_cast<std::size_t>(from.block_bytes);
  const auto to_bytes = static_cast<std::size_t>(to.block_bytes);
  ensure(in % from_bytes == 0, ErrorKind::invalid,
         "convert: input has {} bytes, expected whole blocks of {} bytes of {}", in, from_bytes,
         ir::name(from.kind));
  const std::size_t count = in / from_bytes * static_cast<std::size_t>(from.block_elements);
  ensure(
      out % to_bytes == 0 && out / to_bytes * static_cast<std::size_t>(to.block_elements) == count,
      ErrorKind::invalid, "convert: output has {} bytes, expected {} elements of {}", out, count,
      ir::name(to.kind));
  return static_cast<std::int64_t>(count);
}

/// Converts elements [first, end); `first` begins a chunk.
void convert_range(ir::Element from, const std::byte* in, ir::Element to, std::byte* out,
                   std::int64_t first, std::int64_t end) {
  const auto at = [](ir::Element element, std::int64_t index) {
    return index / element.block_elements * element.block_bytes;
  };
  if (from == to) {
    std::memcpy(out + at(to, first), in + at(from, first),
                static_cast<std::size_t>(at(from, end) - at(from, first)));
    return;
  }
  ConvertBuffer buffer;
  for (std::int64_t done = first; done < end; done += kConvertChunk) {
    const std::int64_t chunk = std::min(kConvertChunk, end - done);
    widen(from.kind, in + at(from, done), chunk, buffer.data());
    narrow(to.kind, buffer.data(), chunk, out + at(to, done));
  }
}

}  // namespace

bool can_convert(ir::Kind from, ir::Kind to) {
  return from == to || ((is_narrow_float(from) || is_quantised(from)) && is_narrow_float(to));
}

void convert(ir::Kind from, std::span<const std::byte> in, ir::Kind to, std::span<std::byte> out) {
  ensure(can_convert(from, to), ErrorKind::unsupported, "convert: {} to {} is not supported",
         ir::name(from), ir::name(to));
  const ir::Element source = ir::element(from);
  const ir::Element target = ir::element(to);
  const std::int64_t count = converted_count(source, in.size(), target, out.size());
  const auto chunks = [&](std::int64_t first, std::int64_t last) {
    convert_range(source, in.data(), target, out.data(), first * kConvertChunk,
                  std::min(last * kConvertChunk, count));
  };
  for_ranges((count + kConvertChunk - 1) / kConvertChunk, chunks, kChunksWorthAThread);
}

}  // namespace parhelion::state
