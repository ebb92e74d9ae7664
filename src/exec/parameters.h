#pragma once

#include "base/error.h"
#include "ir/program.h"

#include <vector>

namespace parhelion::exec {

/// Errors: invalid, naming the first parameter of `instance` that `buffers` does not hold filled.
template <class Buffers>
void check_parameters(const ir::Program& instance, const Buffers& buffers) {
  for (const ir::Buffer& buffer : instance.buffers) {
    ensure(buffer.role != ir::Role::parameter || buffers.is_filled(buffer.name), ErrorKind::invalid,
           "plan of '{}': parameter '{}' was never uploaded", instance.name, buffer.name);
  }
}

/// The buffers of named entries that are parameters.
template <class Entries>
std::vector<ir::Buffer> parameters_of(const Entries& entries) {
  std::vector<ir::Buffer> result;
  for (const auto& [name, entry] : entries) {
    if (entry.buffer.role == ir::Role::parameter) result.push_back(entry.buffer);
  }
  return result;
}

}  // namespace parhelion::exec
