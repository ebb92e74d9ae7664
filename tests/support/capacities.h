#pragma once

#include "ir/passes/instantiate.h"

#include <cstdint>

namespace parhelion::test {

/// The capacities of an instance of a serving step.
inline ir::Capacities step_capacities(std::int64_t tokens, std::int64_t rows,
                                      std::int64_t logit_rows) {
  ir::Capacities result;
  result[ir::Symbol::tokens] = tokens;
  result[ir::Symbol::rows] = rows;
  result[ir::Symbol::logit_rows] = logit_rows;
  return result;
}

}  // namespace parhelion::test
