// Tiles of AMX: one instruction multiplies 16 rows of 32 bf16 by 32 x 16 and adds to 16 x 16 f32.
// In intrinsics, as matmul_dot.cpp. The instruction sums its even and its odd terms from 0 and adds
// both to the total; it flushes denormals.
#include "exec/cpu/kernels/matmul_amx.h"

#if defined(__x86_64__) && defined(__linux__)

// GCC 12's own header has an intentionally undefined vector (its bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"

#include <hwy/base.h>

#include <algorithm>
#include <array>
#include <cpuid.h>
#include <cstring>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace parhelion::exec::cpu {
namespace {

constexpr std::int64_t kTileRows = 16;   // of one register
constexpr std::int64_t kTileTerms = 32;  // bf16 of one row of a register
constexpr std::int64_t kTileBytes = 1024;
constexpr std::int64_t kRowBytes = 64;
constexpr std::int64_t kPanelRowBytes = 128;  // 32 pairs of b

bool cpu_has_amx() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  constexpr unsigned kAmxBf16 = 1u << 22, kAmxTile = 1u << 24;
  return (edx & kAmxBf16) != 0 && (edx & kAmxTile) != 0;
}

// Linux gives the state of tiles (XTILEDATA, 18) to processes that ask.
bool system_lets_use_tiles() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

bool processor_has_amx() {
  static const bool has = cpu_has_amx() && system_lets_use_tiles();
  return has;
}

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,amx-tile,amx-bf16")

namespace {

// What LDTILECFG reads.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

// Registers 0 to 3 are totals: the upper rows left and right, the lower rows left and right. 4 and
// 5 are upper and lower rows of a, 6 and 7 the left and right columns of b.
TileConfig config_of(std::int64_t rows) {
  TileConfig config;
  const auto upper = static_cast<std::uint8_t>(std::min(rows, kTileRows));
  const auto lower = static_cast<std::uint8_t>(rows - upper);
  const std::uint8_t height[8] = {upper, upper, lower, lower, upper, lower, 16, 16};
  for (std::size_t tile = 0; tile < 8; ++tile) {
    config.rows[tile] = height[tile];
    config.row_bytes[tile] = height[tile] == 0 ? 0 : kRowBytes;
  }
  return config;
}

thread_local std::int64_t configured_rows = 0;

void configure(std::int64_t rows) {
  if (rows == configured_rows) return;
  const TileConfig config = config_of(rows);
  // GCC's intrinsic tells the compiler of the first eight bytes only.
  asm volatile("ldtilecfg %0" : : "m"(config));
  configured_rows = rows;
}

template <bool Tall>
inline void load_totals(const TileArgs& args) {
  if (args.first) {
    _tile_zero(0);
    _tile_zero(1);
    if constexpr (Tall) {
      _tile_zero(2);
      _tile_zero(3);
    }
    return;
  }
  const std::int64_t pitch = 4 * args.total_pitch;
  _tile_loadd(0, args.total, pitch);
  _tile_loadd(1, args.total + 16, pitch);
  if constexpr (Tall) {
    const float* lower = args.total + kTileRows * args.total_pitch;
    _tile_loadd(2, lower, pitch);
    _tile_loadd(3, lower + 16, pitch);
  }
}

template <bool Tall>
inline void store_totals(const TileArgs& args) {
  const std::int64_t pitch = 4 * args.total_pitch;
  _tile_stored(0, args.total, pitch);
  _tile_stored(1, args.total + 16, pitch);
  if constexpr (Tall) {
    float* lower = args.total + kTileRows * args.total_pitch;
    _tile_stored(2, lower, pitch);
    _tile_stored(3, lower + 16, pitch);
  }
}

// Adds 32 terms.
template <bool Tall>
inline void step(const std::byte* a, const std::byte* b) {
  _tile_loadd(6, b, kPanelRowBytes);
  _tile_loadd(4, a, kRowBytes);
  _tile_dpbf16ps(0, 4, 6);
  _tile_loadd(7, b + kRowBytes, kPanelRowBytes);
  _tile_dpbf16ps(1, 4, 7);
  if constexpr (Tall) {
    _tile_loadd(5, a + kTileBytes, kRowBytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
}

template <int Rows>
void amx_tile(const TileArgs& args) {
  constexpr bool kTall = Rows > kTileRows;
  configure(Rows);
  load_totals<kTall>(args);
  const auto* a = static_cast<const std::byte*>(args.a);
  const auto* b = static_cast<const std::byte*>(args.b);
  const std::int64_t a_step = args.a_pitch * kRowBytes;
  std::int64_t left = args.depth;
  for (; left >= kTileTerms; left -= kTileTerms, a += a_step, b += 16 * kPanelRowBytes)
    step<kTall>(a, b);
  if (left > 0) {
    // The panel ends within the tile.
    alignas(64) std::byte last[16 * kPanelRowBytes] = {};
    std::memcpy(last, b, static_cast<std::size_t>((left + 1) / 2 * kPanelRowBytes));
    asm volatile("" : : : "memory");  // GCC does not know that tiles read memory
    step<kTall>(a, last);
  }
  store_totals<kTall>(args);
}

template <int... Rows>
constexpr std::array<TileFunction, sizeof...(Rows)> amx_table(std::integer_sequence<int, Rows...>) {
  return {&amx_tile<Rows + 1>...};
}

constexpr auto kAmxTiles = amx_table(std::make_integer_sequence<int, kAmxRows>());

struct Square {
  __m512i rows[16];
};

// Rows of 16 lanes become columns.
void transpose(Square& square) {
  __m512i* rows = square.rows;
  __m512i other[16];
#pragma GCC unroll 8
  for (std::size_t i = 0; i < 16; i += 2) {
    other[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    other[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 16; i += 4) {
    rows[i] = _mm512_unpacklo_epi64(other[i], other[i + 2]);
    rows[i + 1] = _mm512_unpackhi_epi64(other[i], other[i + 2]);
    rows[i + 2] = _mm512_unpacklo_epi64(other[i + 1], other[i + 3]);
    rows[i + 3] = _mm512_unpackhi_epi64(other[i + 1], other[i + 3]);
  }
  // rows[4 q + s], block c, holds column 4 c + s of rows 4 q to 4 q + 3.
#pragma GCC unroll 4
  for (std::size_t s = 0; s < 4; ++s) {
    const __m512i even01 = _mm512_shuffle_i32x4(rows[s], rows[4 + s], 0x88);
    const __m512i odd01 = _mm512_shuffle_i32x4(rows[s], rows[4 + s], 0xdd);
    const __m512i even23 = _mm512_shuffle_i32x4(rows[8 + s], rows[12 + s], 0x88);
    const __m512i odd23 = _mm512_shuffle_i32x4(rows[8 + s], rows[12 + s], 0xdd);
    other[s] = _mm512_shuffle_i32x4(even01, even23, 0x88);
    other[4 + s] = _mm512_shuffle_i32x4(odd01, odd23, 0x88);
    other[8 + s] = _mm512_shuffle_i32x4(even01, even23, 0xdd);
    other[12 + s] = _mm512_shuffle_i32x4(odd01, odd23, 0xdd);
  }
#pragma GCC unroll 16
  for (std::size_t i = 0; i < 16; ++i) rows[i] = other[i];
}

// One register's worth of a: `lines` rows of `terms` elements.
struct TileSource {
  const std::uint16_t* first;
  std::int64_t stride;
  std::int64_t lines;
  std::int64_t terms;
};

void pack_tile_along_depth(const TileSource& source, std::byte* tile) {
  const auto mask = static_cast<__mmask32>((std::uint64_t{1} << source.terms) - 1);
  for (std::int64_t line = 0; line < source.lines; ++line)
    _mm512_store_si512(tile + line * kRowBytes,
                       _mm512_maskz_loadu_epi16(mask, source.first + line * source.stride));
}

// One term of 16 lines that lie side by side, widened. A lambda would not get the target of clang.
__m512i term_of(const TileSource& source, std::int64_t term) {
  if (term >= source.terms) return _mm512_setzero_si512();
  const auto mask = static_cast<__mmask16>((1u << source.lines) - 1);
  return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, source.first + term * source.stride));
}

// Terms p and p + 1 of them, as pairs.
__m512i pairs_of(const TileSource& source, std::int64_t term) {
  return _mm512_or_si512(term_of(source, term), _mm512_slli_epi32(term_of(source, term + 1), 16));
}

void pack_tile_along_lines(const TileSource& source, std::byte* tile) {
  Square pairs;
  for (std::int64_t p = 0; p < 16; ++p) pairs.rows[p] = pairs_of(source, 2 * p);
  transpose(pairs);
  for (std::int64_t line = 0; line < source.lines; ++line)
    _mm512_store_si512(tile + line * kRowBytes, pairs.rows[line]);
}

}  // namespace

void amx_pack_rows(const PackArgs& args) {
  const bool along_depth = args.run == Run::along_depth;
  for (std::int64_t panel = 0; panel < args.panels; ++panel) {
    auto* tile = static_cast<std::byte*>(args.panel) + panel * args.panel_bytes;
    const std::int64_t first_line = panel * args.panel_lines;
    const std::int64_t lines = std::min(args.pitch, args.lines - first_line);
    for (std::int64_t k = 0; k < args.depth; k += kTileTerms) {
      for (std::int64_t line = 0; line < args.pitch; line += kTileRows, tile += kTileBytes) {
        if (line >= lines) continue;
        const std::int64_t from = first_line + line;
        const TileSource source{static_cast<const std::uint16_t*>(args.source) +
                                    (along_depth ? from * args.stride + k : k * args.stride + from),
                                args.stride, std::min(lines - line, kTileRows),
                                std::min(args.depth - k, kTileTerms)};
        (along_depth ? pack_tile_along_depth : pack_tile_along_lines)(source, tile);
      }
    }
  }
}

void amx_release() {
  _tile_release();
  configured_rows = 0;
}

HWY_POP_ATTRIBUTES

const TileFunction* amx_tiles() { return kAmxTiles.data(); }

}  // namespace parhelion::exec::cpu

#else

namespace parhelion::exec::cpu {

bool processor_has_amx() { return false; }
const TileFunction* amx_tiles() { return nullptr; }
void amx_pack_rows(const PackArgs&) {}
void amx_release() {}

}  // namespace parhelion::exec::cpu

#endif
