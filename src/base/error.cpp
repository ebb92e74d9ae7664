#include "base/error.h"

namespace parhelion {

std::string_view name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid:
      return "invalid";
    case ErrorKind::corrupt:
      return "corrupt";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::exhausted:
      return "exhausted";
    case ErrorKind::device:
      return "device";
    case ErrorKind::peer:
      return "peer";
    case ErrorKind::bug:
      return "bug";
  }
  return "unknown";
}

}  // namespace parhelion
