// A GGUF file that is accepted has metadata that can be looked up and tensors inside the file, all
// of which convert; anything else is corrupt or unsupported.
#include "base/error.h"
#include "fuzz/fuzz.h"
#include "state/convert.h"
#include "state/gguf_header.h"

#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

namespace {

using parhelion::Error;
using parhelion::ErrorKind;
namespace ir = parhelion::ir;
namespace state = parhelion::state;

/// Runs a lookup, which may find another type.
template <class Look>
void look_up(const Look& look) try {
  look();
} catch (const Error& error) {
  if (error.kind() != ErrorKind::invalid) throw;
}

void look_up_all(const state::GgufMetadata& metadata) {
  for (const state::MetadataEntry& entry : metadata.entries()) {
    const std::string_view key = entry.first;
    look_up([&] { metadata.string(key); });
    look_up([&] { metadata.integer(key); });
    look_up([&] { metadata.number(key); });
    look_up([&] { metadata.boolean(key); });
    look_up([&] { metadata.strings(key); });
    look_up([&] { metadata.integers(key); });
    look_up([&] { metadata.numbers(key); });
  }
}

void convert_tensor(const state::TensorView& tensor) {
  const auto bytes = state::byte_count(ir::Kind::bf16, tensor.shape);
  if (!bytes) std::abort();  // the tensor fits into the file, so its copy fits into memory
  std::vector<std::byte> out(static_cast<std::size_t>(*bytes));
  state::convert(tensor.kind, tensor.bytes, ir::Kind::bf16, out);
}

void parse_file(std::span<const std::byte> file) try {
  const state::GgufFile gguf = state::parse_gguf(file, "fuzz");
  look_up_all(gguf.metadata);
  for (const state::TensorView& tensor : gguf.tensors) convert_tensor(tensor);
} catch (const Error& error) {
  if (error.kind() != ErrorKind::corrupt && error.kind() != ErrorKind::unsupported) throw;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  parse_file(std::as_bytes(std::span(data, size)));
  return 0;
}
