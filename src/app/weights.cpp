#include "app/weights.h"

#include "state/convert.h"

namespace parhelion::app {

void upload_weights(const model::OpenedModel& opened, ir::Kind kind, exec::Executor& executor) {
  model::load_parameters(opened, [&](const state::TensorView& tensor) {
    executor.upload(tensor.name, [&](std::span<std::byte> out) {
      state::convert(tensor.kind, tensor.bytes, kind, out);
    });
  });
}

}  // namespace parhelion::app
