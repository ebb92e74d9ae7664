#include "train/loop/initial_weights.h"

#include "base/bf16.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/random.h"
#include "state/convert.h"
#include "train/loop/programs.h"
#include "train/optim/update_program.h"

#include <cmath>
#include <set>
#include <string>
#include <vector>

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

template <class T, class Draw>
void fill_elements(std::span<std::byte> bytes, Draw draw) {
  auto* values = reinterpret_cast<T*>(bytes.data());
  for_ranges(static_cast<std::int64_t>(bytes.size() / sizeof(T)), [&](auto first, auto last) {
    for (std::int64_t i = first; i < last; ++i) values[i] = stored<T>(draw(i));
  });
}

/// Uploads what `draw(tag, element)` gives, where the tag is the parameter's own.
template <class Draw>
void upload_drawn(const ir::Buffer& parameter, Draw draw, exec::Executor& executor) {
  const std::uint64_t tag = hash128(std::as_bytes(std::span(parameter.name))).low;
  const auto element = [&](std::int64_t index) {
    return draw(tag, static_cast<std::uint64_t>(index));
  };
  executor.upload(parameter.name, [&](std::span<std::byte> bytes) {
    if (parameter.type.kind() == ir::Kind::f32) {
      fill_elements<float>(bytes, element);
    } else {
      fill_elements<BFloat16>(bytes, element);
    }
  });
}

}  // namespace

void initialise_weights(std::span<const ir::Buffer> parameters, double deviation,
                        std::uint64_t seed, exec::Executor& executor) {
  for (const ir::Buffer& parameter : parameters) {
    const bool is_norm = parameter.type.rank() == 1;
    const auto draw = [&](std::uint64_t tag, std::uint64_t element) {
      return is_norm ? 1.0f : static_cast<float>(deviation) * normal(seed, tag, element);
    };
    upload_drawn(parameter, draw, executor);
  }
}

void initialise_adapters(const model::Lora& lora, std::span<const ir::Buffer> parameters,
                         std::uint64_t seed, exec::Executor& executor) {
  std::set<std::string> zeros;
  for (const std::string& module : lora.modules) zeros.insert(model::lora_b_name(module));
  for (const ir::Buffer& parameter : parameters) {
    const auto inputs = static_cast<double>(ir::number(parameter.type.shape[1]));
    const auto bound =
        zeros.contains(parameter.name) ? 0.0f : static_cast<float>(1 / std::sqrt(inputs));
    const auto draw = [&](std::uint64_t tag, std::uint64_t element) {
      return bound * (2 * uniform(seed, tag, element) - 1) + 0.0f;  // no negative zeros
    };
    upload_drawn(parameter, draw, executor);
  }
}

void initialise_masters(const ir::Program& step, exec::Executor& executor) {
  for (const ir::Buffer& parameter : saved_parameter_buffers(step)) {
    const std::string master = master_name(parameter.name);
    if (!ir::find_buffer(step, master)) continue;
    std::vector<std::byte> content(static_cast<std::size_t>(ir::byte_count(parameter.type)));
    executor.copy_out(parameter.name, content);
    executor.upload(master, [&](std::span<std::byte> out) {
      state::convert(parameter.type.kind(), content, ir::Kind::f32, out);
    });
  }
}

}  // namespace parhelion::train
