#pragma once

#include "base/error.h"

#include <cstddef>
#include <filesystem>
#include <span>

namespace parhelion {

/// What an error number of a write means: exhausted if there is no room, else invalid.
ErrorKind kind_of_write_error(int code);

/// Writes all of `bytes` where the descriptor stands. `path` is named in errors.
///
/// Errors: as kind_of_write_error.
void write_all(int descriptor, std::span<const std::byte> bytes, const std::filesystem::path& path);

}  // namespace parhelion
