#include "app/weights.h"

#include "base/parallel.h"
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

void upload_weights(const contract::Core& core, exec::Executor& executor) {
  for (const contract::WeightView& weight : core.weights) {
    executor.upload(weight.name, [&](std::span<std::byte> out) {
      for_ranges(std::ssize(out), [&](std::int64_t first, std::int64_t last) {
        std::copy_n(weight.bytes.begin() + first, last - first, out.begin() + first);
      });
    });
  }
}

}  // namespace parhelion::app
