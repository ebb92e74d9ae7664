#include "exec/cuda/buffers.h"

#include "base/error.h"
#include "exec/cuda/ops/families.h"
#include "exec/parameters.h"

#include <array>

namespace parhelion::exec::cuda {
namespace {

constexpr std::int64_t kStagingStep = std::int64_t{1} << 26;

}  // namespace

Buffers::Buffers(const Device& device, cudaStream_t stream)
    : device_(device), stream_(stream), arena_("persistent", device.ordinal) {}

std::byte* Buffers::bind(const ir::Buffer& buffer) {
  const auto at = entries_.find(buffer.name);
  if (at != entries_.end()) {
    const ir::Buffer& known = at->second.buffer;
    ensure(known.type == buffer.type && known.role == buffer.role, ErrorKind::invalid,
           "buffer '{}': is {} {}, expected {} {} as planned before", buffer.name,
           ir::name(buffer.role), to_string(buffer.type), ir::name(known.role),
           to_string(known.type));
    return at->second.data;
  }
  Entry entry{.buffer = buffer,
              .bytes = ir::byte_count(buffer.type),
              .filled = buffer.role != ir::Role::parameter,
              .on_host = {}};
  arena_.reserve(used_bytes_ + entry.bytes);
  entry.data = arena_.data() + used_bytes_;
  used_bytes_ += aligned(entry.bytes);
  Entry& added = entries_.emplace(buffer.name, std::move(entry)).first->second;
  if (buffer.init) generate(added);
  return added.data;
}

void Buffers::generate(Entry& entry) {
  const ir::OpNode node{.op = *entry.buffer.init};
  const OpView view{.node = node, .inputs = {}, .outputs = {entry.buffer.type}, .frozen = {}};
  const auto kernel = candidates(node.op).front().plan(view, device_);
  const std::array<std::byte*, 1> outputs = {entry.data};
  const LaunchArgs args{.inputs = {}, .outputs = outputs, .stream = stream_};
  kernel->bind(args);
  kernel->launch(args);
  check(cudaStreamSynchronize(stream_), entry.buffer.name);
}

std::byte* Buffers::staging(std::int64_t bytes) {
  if (staging_bytes_ < bytes) {
    staging_bytes_ = (bytes + kStagingStep - 1) / kStagingStep * kStagingStep;
    staging_ = {};
    staging_ = PinnedMemory(staging_bytes_);
  }
  return staging_.data();
}

void Buffers::upload(std::string_view name, const std::function<void(std::span<std::byte>)>& fill) {
  Entry& entry = find(name);
  const auto bytes = static_cast<std::size_t>(entry.bytes);
  std::byte* host = staging(entry.bytes);
  fill({host, bytes});
  check(cudaMemcpyAsync(entry.data, host, bytes, cudaMemcpyHostToDevice, stream_), name);
  check(cudaStreamSynchronize(stream_), name);
  entry.filled = true;
}

std::span<const std::byte> Buffers::download(std::string_view name) {
  Entry& entry = find(name);
  entry.on_host.resize(static_cast<std::size_t>(entry.bytes));
  check(cudaMemcpyAsync(entry.on_host.data(), entry.data, entry.on_host.size(),
                        cudaMemcpyDeviceToHost, stream_),
        name);
  check(cudaStreamSynchronize(stream_), name);
  return entry.on_host;
}

void Buffers::copy_out(std::string_view name, std::span<std::byte> out, cudaStream_t copy_stream) {
  const Entry& entry = find(name);
  ensure(std::ssize(out) == entry.bytes, ErrorKind::bug, "buffer '{}': has {} bytes, not {}", name,
         entry.bytes, out.size());
  check(cudaMemcpyAsync(out.data(), entry.data, out.size(), cudaMemcpyDeviceToHost, copy_stream),
        name);
  check(cudaStreamSynchronize(copy_stream), name);
}

KeptSource Buffers::source(std::string_view name) {
  const Entry& entry = find(name);
  return {.name = entry.buffer.name, .data = entry.data, .bytes = entry.bytes};
}

void Buffers::clear(std::string_view name) {
  Entry& entry = find(name);
  check(cudaMemsetAsync(entry.data, 0, static_cast<std::size_t>(entry.bytes), stream_), name);
}

bool Buffers::is_filled(std::string_view name) const {
  const auto at = entries_.find(name);
  return at != entries_.end() && at->second.filled;
}

std::vector<ir::Buffer> Buffers::parameters() const { return parameters_of(entries_); }

void Buffers::sleep() {
  asleep_.resize(static_cast<std::size_t>(used_bytes_));
  check(cudaMemcpy(asleep_.data(), arena_.data(), asleep_.size(), cudaMemcpyDeviceToHost), "sleep");
  arena_.unmap();
}

void Buffers::wake() {
  arena_.map();
  check(cudaMemcpy(arena_.data(), asleep_.data(), asleep_.size(), cudaMemcpyHostToDevice), "wake");
  asleep_ = {};
}

Buffers::Entry& Buffers::find(std::string_view name) {
  const auto at = entries_.find(name);
  ensure(at != entries_.end(), ErrorKind::invalid, "buffer '{}': no plan names it", name);
  return at->second;
}

}  // namespace parhelion::exec::cuda
