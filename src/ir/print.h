#pragma once

#include "ir/program.h"

#include <string>

namespace parhelion::ir {

/// The program as stable text: one line per buffer, then one line per op in order.
///
/// `%3` is a value; `@2` after a buffer's name is its version; `as [...]` is a shape that a reshape
/// left on an operand. Ids that name nothing are printed as they are, so that a broken program can
/// be printed too.
std::string print(const Program& program);

}  // namespace parhelion::ir
