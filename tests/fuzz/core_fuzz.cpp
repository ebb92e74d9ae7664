// A core file that is accepted has weights inside the file and a contract that can be described,
// and a contract message that is accepted can be encoded again; anything else is corrupt,
// unsupported or invalid.
#include "base/error.h"
#include "contract/core.h"
#include "contract/encoding.h"
#include "fuzz/fuzz.h"

#include <cstdlib>
#include <span>

namespace {

using parhelion::Error;
using parhelion::ErrorKind;
namespace contract = parhelion::contract;

/// Runs what may refuse its input.
template <class Read>
void read_input(const Read& read) try {
  read();
} catch (const Error& error) {
  if (error.kind() != ErrorKind::corrupt && error.kind() != ErrorKind::unsupported) throw;
}

bool is_inside(std::span<const std::byte> part, std::span<const std::byte> file) {
  return part.empty() ||
         (part.data() >= file.data() && part.data() + part.size() <= file.data() + file.size());
}

void read_file_bytes(std::span<const std::byte> file) {
  const contract::Core core = contract::read_core(file, "fuzz", {.allow_unsigned = true});
  for (const contract::WeightView& weight : core.weights)
    if (!is_inside(weight.bytes, file)) std::abort();
  if (contract::describe(core).empty()) std::abort();
}

void read_message_bytes(std::span<const std::byte> bytes) {
  constexpr std::int64_t kWeightsBytes = 1 << 16;
  const contract::EncodedContract encoded = contract::decode(bytes);
  contract::check_encoded(encoded, kWeightsBytes);
  const std::string again = contract::encode(encoded.contract, encoded.weights);
  if (contract::decode(std::as_bytes(std::span(again))).contract != encoded.contract) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  read_input([&] { read_file_bytes(bytes); });
  read_input([&] { read_message_bytes(bytes); });
  return 0;
}
