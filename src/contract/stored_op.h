#pragma once

#include "ir/op.h"

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace parhelion::contract {

/// An attribute of an op as files have it. An enumerator is its name.
struct StoredField {
  std::string name;
  std::variant<bool, std::int64_t, double, std::string, ir::Shape> value;
  bool operator==(const StoredField&) const = default;
};

/// An op as files have it: its family's number and version, and every attribute by name.
struct StoredOp {
  std::uint32_t family = 0;
  std::uint32_t version = 0;
  std::vector<StoredField> fields = {};
  bool operator==(const StoredOp&) const = default;
};

/// Makes an op of a family's version `from` one of the next version that means the same.
struct Upgrade {
  std::uint32_t family = 0;
  std::uint32_t from = 0;
  StoredOp (*next)(StoredOp op) = nullptr;  ///< pure; the version is raised by the caller
};

/// The upgrades of all families whose version is above 1.
std::span<const Upgrade> family_upgrades();

/// The op as a file keeps it.
StoredOp store(const ir::Op& op);

/// The op that a file keeps, brought to today's version of its family step by step.
///
/// Errors: unsupported for a family, a version or a field that this build does not know; corrupt if
///         a field is missing, repeated or of another type.
ir::Op restore(StoredOp stored, std::span<const Upgrade> upgrades = family_upgrades());

}  // namespace parhelion::contract
