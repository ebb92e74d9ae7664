#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace parhelion {

/// Who must act on an error.
enum class ErrorKind : std::uint8_t {
  invalid,      ///< the caller or the user gave something wrong
  corrupt,      ///< data at rest or on the wire breaks its format
  unsupported,  ///< correct input which this build or device cannot run
  exhausted,    ///< memory, disk or handles ran out
  device,       ///< an accelerator library failed: the process must end
  peer,         ///< another rank failed: the job must end
  bug,          ///< an invariant of our own is broken
};

/// The kind's name, as logs print it.
std::string_view name(ErrorKind kind);

/// The one exception type. Messages say where, what it is and what was expected.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

/// Throws `Error` with a formatted message.
template <class... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws `Error` with a formatted message unless `condition` holds.
template <class... Args>
void ensure(bool condition, ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) fail(kind, format, std::forward<Args>(args)...);
}

}  // namespace parhelion
