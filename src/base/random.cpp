#include "base/random.h"

#include <cmath>
#include <numbers>

namespace parhelion {
namespace {

float to_unit(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

}  // namespace

std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_low,
                                    std::uint64_t counter_high) {
  std::array<std::uint32_t, 4> word = {
      static_cast<std::uint32_t>(counter_low), static_cast<std::uint32_t>(counter_low >> 32),
      static_cast<std::uint32_t>(counter_high), static_cast<std::uint32_t>(counter_high >> 32)};
  auto key_low = static_cast<std::uint32_t>(key);
  auto key_high = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product_0 = std::uint64_t{0xD2511F53u} * word[0];
    const std::uint64_t product_1 = std::uint64_t{0xCD9E8D57u} * word[2];
    word = {static_cast<std::uint32_t>(product_1 >> 32) ^ word[1] ^ key_low,
            static_cast<std::uint32_t>(product_1),
            static_cast<std::uint32_t>(product_0 >> 32) ^ word[3] ^ key_high,
            static_cast<std::uint32_t>(product_0)};
    key_low += 0x9E3779B9u;
    key_high += 0xBB67AE85u;
  }
  return word;
}

std::uint32_t noise16(std::uint64_t seed, std::uint64_t tag, std::uint64_t element) {
  const std::uint32_t word = philox(seed, element / 8, tag)[element % 8 / 2];
  return element % 2 == 0 ? word & 0xffffu : word >> 16;
}

float uniform(std::uint64_t seed, std::uint64_t tag, std::uint64_t element) {
  return to_unit(philox(seed, element, tag)[0]);
}

float normal(std::uint64_t seed, std::uint64_t tag, std::uint64_t element) {
  const auto word = philox(seed, element, tag);
  const double radius = std::sqrt(-2.0 * std::log(1.0 - static_cast<double>(to_unit(word[0]))));
  return static_cast<float>(
      radius * std::cos(2.0 * std::numbers::pi * static_cast<double>(to_unit(word[1]))));
}

}  // namespace parhelion
