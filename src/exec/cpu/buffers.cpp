#include "exec/cpu/buffers.h"

#include "base/error.h"
#include "exec/cpu/kernels/matmul.h"
#include "exec/parameters.h"

#include <array>

namespace parhelion::exec::cpu {
namespace {

/// A weight [n, k], read as the k x n right side of matmul.
MatrixView weight_view(const ir::Buffer& buffer, const std::byte* data) {
  const std::int64_t n = ir::number(buffer.type.shape[0]);
  const std::int64_t k = ir::number(buffer.type.shape[1]);
  return {.data = data,
          .kind = buffer.type.kind(),
          .rows = k,
          .cols = n,
          .row_stride = k,
          .transposed = true};
}

}  // namespace

std::byte* Buffers::bind(const ir::Buffer& buffer, Form form) {
  auto [at, added] = entries_.try_emplace(buffer.name);
  Entry& entry = at->second;
  if (added) {
    entry.buffer = buffer;
    entry.filled = buffer.role != ir::Role::parameter;
  }
  ensure(entry.buffer.type == buffer.type && entry.buffer.role == buffer.role, ErrorKind::invalid,
         "buffer '{}': is {} {}, expected {} {} as planned before", buffer.name,
         ir::name(buffer.role), to_string(buffer.type), ir::name(entry.buffer.role),
         to_string(entry.buffer.type));
  Memory& memory = form == Form::plain ? entry.plain : entry.packed;
  if (memory.data() != nullptr) return memory.data();
  const bool late = entry.filled && buffer.role == ir::Role::parameter;
  ensure(!late || entry.plain.data() != nullptr, ErrorKind::invalid,
         "buffer '{}': was uploaded in packed form alone, plan its row-major readers before the "
         "upload",
         buffer.name);
  if (form == Form::packed) {
    const MatrixView view = weight_view(buffer, nullptr);
    memory = Memory(packed_bytes(device_.tier, view.kind, view.rows, view.cols));
    if (late) repack(entry, entry.plain.bytes());
  } else {
    memory = Memory(ir::byte_count(buffer.type));
    if (buffer.init) generate(entry);
  }
  return memory.data();
}

void Buffers::generate(Entry& entry) {
  const ir::OpNode node{.op = *entry.buffer.init};
  const OpView view{.node = node, .inputs = {}, .outputs = {entry.buffer.type}, .frozen = {}};
  const auto kernel = candidates(node.op).front().plan(view, device_);
  const std::array<std::byte*, 1> outputs = {entry.plain.data()};
  kernel->run({.inputs = {}, .outputs = outputs, .workspace = {}});
}

void Buffers::repack(Entry& entry, std::span<std::byte> content) {
  pack(weight_view(entry.buffer, content.data()), device_.tier, device_.threads,
       entry.packed.bytes());
}

/// Kept from upload to upload, since the system clears what it gives.
std::span<std::byte> Buffers::staging(std::int64_t bytes) {
  if (staging_.size() < bytes || staging_.data() == nullptr) staging_ = Memory(bytes);
  return staging_.bytes().first(static_cast<std::size_t>(bytes));
}

void Buffers::upload(std::string_view name, const std::function<void(std::span<std::byte>)>& fill) {
  Entry& entry = find(name);
  const std::span<std::byte> content = entry.plain.data() == nullptr
                                           ? staging(ir::byte_count(entry.buffer.type))
                                           : entry.plain.bytes();
  fill(content);
  if (entry.packed.data() != nullptr) repack(entry, content);
  entry.filled = true;
}

std::span<std::byte> Buffers::plain(std::string_view name) {
  Entry& entry = find(name);
  ensure(entry.plain.data() != nullptr, ErrorKind::invalid,
         "buffer '{}': is resident in packed form alone", name);
  return entry.plain.bytes();
}

bool Buffers::is_filled(std::string_view name) const {
  const auto at = entries_.find(name);
  return at != entries_.end() && at->second.filled;
}

std::vector<ir::Buffer> Buffers::parameters() const { return parameters_of(entries_); }

Buffers::Entry& Buffers::find(std::string_view name) {
  const auto at = entries_.find(name);
  ensure(at != entries_.end(), ErrorKind::invalid, "buffer '{}': no plan names it", name);
  return at->second;
}

}  // namespace parhelion::exec::cpu
