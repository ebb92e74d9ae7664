#include "train/loop/initial_weights.h"

#include "base/bf16.h"
#include "base/hash.h"
#include "base/random.h"

namespace parhelion::train {
namespace {

template <class T>
T stored(float value) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return value;
  } else {
    return to_bfloat16(value);
  }
}

template <class T>
void fill_parameter(const ir::Buffer& parameter, double deviation, std::uint64_t seed,
                    std::span<std::byte> bytes) {
  auto* values = reinterpret_cast<T*>(bytes.data());
  const bool is_norm = parameter.type.rank() == 1;
  const std::uint64_t tag = hash128(std::as_bytes(std::span(parameter.name))).low;
  const std::int64_t count = ir::element_count(parameter.type);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto element = static_cast<std::uint64_t>(i);
    values[i] =
        stored<T>(is_norm ? 1.0f : static_cast<float>(deviation) * normal(seed, tag, element));
  }
}

}  // namespace

void initialise_weights(std::span<const ir::Buffer> parameters, double deviation,
                        std::uint64_t seed, exec::Executor& executor) {
  for (const ir::Buffer& parameter : parameters) {
    executor.upload(parameter.name, [&](std::span<std::byte> bytes) {
      const auto fill = parameter.type.kind() == ir::Kind::f32 ? &fill_parameter<float>
                                                               : &fill_parameter<BFloat16>;
      fill(parameter, deviation, seed, bytes);
    });
  }
}

}  // namespace parhelion::train
