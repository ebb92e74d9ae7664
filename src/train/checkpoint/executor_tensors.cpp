#include "train/checkpoint/executor_tensors.h"

#include "base/error.h"
#include "state/loader.h"

#include <algorithm>
#include <string>

namespace parhelion::train {
namespace {

state::Shape buffer_shape(const ir::Buffer& buffer) {
  state::Shape shape;
  for (const ir::Dim& dim : buffer.type.shape) shape.push_back(ir::number(dim));
  return shape;
}

void check_saved_type(const state::Checkpoint& saved, const ir::Buffer& buffer) {
  const state::TensorView* tensor = saved.find(buffer.name);
  if (tensor == nullptr) return;  // state::load names all that are missing
  ensure(tensor->kind == buffer.type.kind() && tensor->shape == buffer_shape(buffer),
         ErrorKind::invalid, "{}: tensor '{}' is {} {}, but the job has {}", saved.where(),
         buffer.name, ir::name(tensor->kind), state::shape_text(tensor->shape),
         ir::to_string(buffer.type));
}

}  // namespace

std::shared_ptr<exec::KeptBuffers> keep_buffers(exec::Executor& executor,
                                                std::span<const ir::Buffer> parameters,
                                                std::span<const ir::Buffer> optimizer) {
  std::vector<std::string> names;
  for (const auto& buffers : {parameters, optimizer})
    for (const ir::Buffer& buffer : buffers) names.push_back(buffer.name);
  return executor.keep(names);
}

std::vector<SnapshotTensor> buffer_snapshots(exec::Executor& executor,
                                             std::span<const ir::Buffer> buffers,
                                             const std::shared_ptr<exec::KeptBuffers>& kept) {
  std::vector<SnapshotTensor> tensors;
  for (const ir::Buffer& buffer : buffers) {
    tensors.push_back({.name = buffer.name,
                       .kind = buffer.type.kind(),
                       .shape = buffer_shape(buffer),
                       .bytes = ir::byte_count(buffer.type),
                       .copy = [&executor, kept, name = buffer.name](std::span<std::byte> out) {
                         if (kept) return kept->copy_out(name, out);
                         executor.copy_out(name, out);
                       }});
  }
  return tensors;
}

void restore_buffers(const state::Checkpoint& saved, std::span<const ir::Buffer> buffers,
                     exec::Executor& executor) {
  std::vector<std::string> names;
  for (const ir::Buffer& buffer : buffers) {
    check_saved_type(saved, buffer);
    names.push_back(buffer.name);
  }
  state::load(state::source_of(saved), state::identity(names), {},
              [&](const state::TensorView& tensor) {
                executor.upload(tensor.name, [&](std::span<std::byte> out) {
                  std::ranges::copy(tensor.bytes, out.begin());
                });
              });
}

}  // namespace parhelion::train
