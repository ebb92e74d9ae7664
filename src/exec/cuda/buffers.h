#pragma once

#include "exec/cuda/arena.h"
#include "exec/cuda/candidate.h"
#include "exec/cuda/copy_room.h"
#include "exec/cuda/handles.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::exec::cuda {

/// The named buffers that outlive a run, in one arena, and how the host reads and writes them.
/// Copies are ordered after all work of `stream`.
class Buffers {
 public:
  Buffers(const Device& device, cudaStream_t stream);

  /// The device address of a buffer, made resident if it was not.
  ///
  /// Errors: invalid if the name stands for another type; exhausted.
  std::byte* bind(const ir::Buffer& buffer);

  void upload(std::string_view name, const std::function<void(std::span<std::byte>)>& fill);
  /// A copy on the host, valid until the buffer is downloaded again.
  std::span<const std::byte> download(std::string_view name);
  /// Copies on `copy_stream`, beside the work of the other stream.
  void copy_out(std::string_view name, std::span<std::byte> out, cudaStream_t copy_stream);
  /// Where a buffer is, to be copied aside.
  KeptSource source(std::string_view name);
  void clear(std::string_view name);
  bool is_filled(std::string_view name) const;
  std::vector<ir::Buffer> parameters() const;

  /// Contents go to the host and the arena's memory back; `wake` undoes it.
  void sleep();
  void wake();

 private:
  struct Entry {
    ir::Buffer buffer;
    std::byte* data = nullptr;
    std::int64_t bytes = 0;
    bool filled = false;
    std::vector<std::byte> on_host;  // of the last download
  };
  Entry& find(std::string_view name);
  void generate(Entry& entry);
  std::byte* staging(std::int64_t bytes);

  const Device& device_;
  cudaStream_t stream_;
  Arena arena_;
  std::int64_t used_bytes_ = 0;
  std::map<std::string, Entry, std::less<>> entries_;
  PinnedMemory staging_;
  std::int64_t staging_bytes_ = 0;
  std::vector<std::byte> asleep_;
};

}  // namespace parhelion::exec::cuda
