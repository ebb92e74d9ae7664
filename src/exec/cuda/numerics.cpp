#include "base/error.h"
#include "exec/cuda/cuda_executor.h"

namespace parhelion::exec {

std::string_view name(Numerics numerics) {
  switch (numerics) {
    case Numerics::exact:
      return "exact";
    case Numerics::invariant:
      return "invariant";
    case Numerics::fast:
      return "fast";
  }
  return "?";
}

Numerics numerics_named(std::string_view text) {
  for (const auto each : {Numerics::exact, Numerics::invariant, Numerics::fast})
    if (name(each) == text) return each;
  fail(ErrorKind::invalid, "numerics: is '{}', expected exact, invariant or fast", text);
}

}  // namespace parhelion::exec
