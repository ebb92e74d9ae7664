#include "prepare/process_memory.h"

#include <fstream>
#include <unistd.h>

namespace parhelion::prepare {

std::int64_t own_memory_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0, resident = 0, shared = 0;
  if (!(file >> size >> resident >> shared)) return 0;
  return (resident - shared) * ::sysconf(_SC_PAGESIZE);
}

}  // namespace parhelion::prepare
