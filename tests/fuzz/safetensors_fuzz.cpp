// A safetensors file or index that is accepted describes bytes inside the file; anything else is
// corrupt or, for an unknown dtype, unsupported.
#include "base/error.h"
#include "fuzz/fuzz.h"
#include "state/safetensors_header.h"
#include "state/safetensors_index.h"

#include <cstdlib>
#include <span>
#include <string_view>

namespace {

using parhelion::Error;
using parhelion::ErrorKind;
namespace state = parhelion::state;

void parse_file(std::span<const std::byte> file) try {
  const std::byte* end = file.data() + 8;
  for (const state::TensorView& tensor : state::parse_safetensors(file, "fuzz")) {
    const bool fits = state::byte_count(tensor.kind, tensor.shape) == std::ssize(tensor.bytes) &&
                      tensor.bytes.data() >= end;
    end = tensor.bytes.data() + tensor.bytes.size();
    if (!fits || end > file.data() + file.size()) std::abort();
  }
} catch (const Error& error) {
  if (error.kind() != ErrorKind::corrupt && error.kind() != ErrorKind::unsupported) throw;
}

void parse_index(std::string_view text) try {
  for (const auto& [shard, tensors] : state::parse_safetensors_index(text, "fuzz"))
    if (shard.find('/') != std::string::npos || tensors.empty()) std::abort();
} catch (const Error& error) {
  if (error.kind() != ErrorKind::corrupt) throw;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  parse_file(std::as_bytes(std::span(data, size)));
  parse_index({reinterpret_cast<const char*>(data), size});
  return 0;
}
