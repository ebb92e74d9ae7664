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

}  // namespace parhelion::exec
