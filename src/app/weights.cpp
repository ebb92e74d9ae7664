#include "app/weights.h"

#include "state/convert.h"

#include <algorithm>

namespace parhelion::app {

void upload_weights(const model::OpenedModel& opened, ir::Kind kind, exec::Executor& executor) {
  model::load_parameters(opened, [&](const state::TensorView& tensor) {
    executor.upload(tensor.name, [&](std::span<std::byte> out) {
      state::convert(tensor.kind, tensor.bytes, kind, out);
    });
  });
}

void upload_weights(std::span<const contract::WeightView> weights, exec::Executor& executor) {
  for (const contract::WeightView& weight : weights) {
    executor.upload(weight.name, [&](std::span<std::byte> out) {
      std::ranges::copy(weight.bytes, out.begin());
    });
  }
}

}  // namespace parhelion::app
