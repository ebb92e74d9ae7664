#include "contract/origin.h"
#include "contract/policy.h"

namespace parhelion::contract {

std::string_view name(CacheScheme scheme) {
  switch (scheme) {
    case CacheScheme::full:
      return "full";
    case CacheScheme::sliding_window:
      return "sliding_window";
  }
  return "unknown";
}

std::string_view name(DeviceKind device) {
  switch (device) {
    case DeviceKind::cpu:
      return "cpu";
    case DeviceKind::cuda:
      return "cuda";
  }
  return "unknown";
}

std::string_view name(Numerics numerics) {
  switch (numerics) {
    case Numerics::exact:
      return "exact";
    case Numerics::invariant:
      return "invariant";
    case Numerics::fast:
      return "fast";
  }
  return "unknown";
}

}  // namespace parhelion::contract
