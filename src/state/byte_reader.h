#pragma once

#include "base/error.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace parhelion::state {

/// Reads little-endian values one after another from bytes that may end anywhere.
class ByteReader {
 public:
  /// `where` names the bytes in errors; both must outlive this object.
  ByteReader(std::span<const std::byte> bytes, std::string_view where)
      : bytes_(bytes), where_(where) {}

  std::size_t position() const { return position_; }
  std::size_t left() const { return bytes_.size() - position_; }

  /// The next `count` bytes, which are a part of `what` called `name`.
  ///
  /// Errors: corrupt if fewer are left.
  std::span<const std::byte> take(std::uint64_t count, std::string_view what,
                                  std::string_view name) {
    ensure(count <= left(), ErrorKind::corrupt,
           "{}: {} '{}' needs {} bytes at byte {}, but only {} are left", where_, what, name, count,
           position_, left());
    const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += taken.size();
    return taken;
  }

  /// The next value of a plain type. Errors: as `take`.
  template <class T>
  T read(std::string_view what, std::string_view name) {
    T value;
    std::memcpy(&value, take(sizeof value, what, name).data(), sizeof value);
    return value;
  }

  /// The next string: its length in eight bytes, then its bytes. Errors: as `take`.
  std::string_view read_string(std::string_view what, std::string_view name) {
    const auto text = take(read<std::uint64_t>(what, name), what, name);
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

 private:
  std::span<const std::byte> bytes_;
  std::string_view where_;
  std::size_t position_ = 0;
};

}  // namespace parhelion::state
