#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace parhelion {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

/// The level of a name: debug, info, warning, error.
std::optional<LogLevel> log_level_named(std::string_view name);

/// Hides messages below `level`. Messages go to standard error. Call before other threads start.
void set_log_level(LogLevel level);

/// Writes one line. Threads: any.
void write_log(LogLevel level, std::string_view message);

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  write_log(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace parhelion
