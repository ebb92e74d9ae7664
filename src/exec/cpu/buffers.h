#pragma once

#include "exec/cpu/candidate.h"
#include "exec/cpu/memory.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::exec::cpu {

/// The forms in which a buffer is resident: row-major, or packed for the right side of matmul, or
/// both.
enum class Form : std::uint8_t { plain, packed };

/// The named buffers that outlive a run.
class Buffers {
 public:
  explicit Buffers(Device device) : device_(device) {}

  /// The address of a buffer in a form, made resident if it was not.
  ///
  /// Errors: invalid if the name stands for another type, or its content is there but not in this
  /// form.
  std::byte* bind(const ir::Buffer& buffer, Form form);

  void upload(std::string_view name, const std::function<void(std::span<std::byte>)>& fill);
  std::span<std::byte> plain(std::string_view name);
  bool is_filled(std::string_view name) const;
  /// Gives back what uploads share: call it when they are over.
  void drop_staging() { staging_ = Memory(); }
  std::vector<ir::Buffer> parameters() const;

 private:
  struct Entry {
    ir::Buffer buffer;
    Memory plain;
    Memory packed;
    bool filled = false;
  };
  Entry& find(std::string_view name);
  void generate(Entry& entry);
  void repack(Entry& entry, std::span<std::byte> content);
  std::span<std::byte> staging(std::int64_t bytes);

  Device device_;
  Memory staging_;  // of uploads whose row-major form is not kept
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace parhelion::exec::cpu
