#include "train/checkpoint/snapshot.h"

#include "base/error.h"

#include <algorithm>
#include <sys/mman.h>

namespace parhelion::train {
namespace {

/// Pages that are there at once: that takes a quarter less time than one fault a page.
std::shared_ptr<std::byte> map_pages(std::int64_t bytes) {
  if (bytes == 0) return {};
  const auto count = static_cast<std::size_t>(bytes);
  void* const data = ::mmap(nullptr, count, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  ensure(data != MAP_FAILED, ErrorKind::exhausted, "snapshot: no {} bytes of memory", bytes);
  return {static_cast<std::byte*>(data), [count](std::byte* pages) { ::munmap(pages, count); }};
}

std::vector<state::TensorView> copy_tensors(const std::vector<SnapshotTensor>& tensors,
                                            std::byte*& next) {
  std::vector<state::TensorView> result;
  for (const SnapshotTensor& tensor : tensors) {
    const std::span<std::byte> bytes(next, static_cast<std::size_t>(tensor.bytes));
    tensor.copy(bytes);
    next += tensor.bytes;
    result.push_back({.name = tensor.name,
                      .kind = tensor.kind,
                      .shape = tensor.shape,
                      .bytes = bytes,
                      .storage = nullptr});
  }
  return result;
}

std::vector<SnapshotTensor> tensors_of(const std::vector<state::TensorView>& views) {
  std::vector<SnapshotTensor> result;
  result.reserve(views.size());
  for (const state::TensorView& view : views) {
    result.push_back(
        {.name = view.name,
         .kind = view.kind,
         .shape = view.shape,
         .bytes = std::ssize(view.bytes),
         .copy = [view](std::span<std::byte> out) { std::ranges::copy(view.bytes, out.begin()); }});
  }
  return result;
}

}  // namespace

std::int64_t total_bytes(const Snapshot& snapshot) {
  std::int64_t bytes = 0;
  for (const auto* tensors : {&snapshot.parameters, &snapshot.optimizer})
    for (const SnapshotTensor& tensor : *tensors) bytes += tensor.bytes;
  return bytes;
}

CheckpointContent take(const Snapshot& snapshot, std::shared_ptr<std::byte>& block) {
  block = snapshot.memory(total_bytes(snapshot));
  std::byte* next = block.get();
  CheckpointContent content{.facts = snapshot.facts};
  content.parameters = copy_tensors(snapshot.parameters, next);
  content.optimizer = copy_tensors(snapshot.optimizer, next);
  return content;
}

Snapshot snapshot_of(const CheckpointContent& content) {
  return {.parameters = tensors_of(content.parameters),
          .optimizer = tensors_of(content.optimizer),
          .facts = content.facts,
          .memory = map_pages};
}

}  // namespace parhelion::train
