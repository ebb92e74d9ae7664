#pragma once

#include "contract/stored_op.h"
#include "ir/program.h"

namespace parhelion::contract {

namespace proto {
class Program;
class Type;
}  // namespace proto

/// How much of a program a file may have.
inline constexpr std::int64_t kMostOps = 1 << 16;
inline constexpr std::int64_t kMostRank = 8;
inline constexpr std::int64_t kMostOperands = 256;
inline constexpr std::int64_t kMostNameBytes = 4096;
/// Bounds numbers of shapes such that sizes under any capacity stay within 64 bits or are refused.
inline constexpr std::int64_t kMostExtent = std::int64_t{1} << 31;

void write_message(const ir::Program& program, proto::Program& message);
void write_message(const ir::TensorType& type, proto::Type& message);

/// A program of a file. Ids may still name nothing: ir::verify comes next.
///
/// Errors: corrupt if a number, name or count is out of bounds; as restore.
ir::Program read_message(const proto::Program& message, std::span<const Upgrade> upgrades);
ir::TensorType read_message(const proto::Type& message);

}  // namespace parhelion::contract
