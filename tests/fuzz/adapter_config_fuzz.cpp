// An adapter_config.json: refused as bad input, or read; then what is written of it reads back.

#include "base/error.h"
#include "base/json.h"
#include "fuzz/fuzz.h"
#include "model/adapters/adapter_config.h"

#include <string_view>

namespace {

using parhelion::Error;
using parhelion::ErrorKind;
using parhelion::model::AdapterConfig;

AdapterConfig read_config_text(std::string_view text) {
  return parhelion::model::read_adapter_config(
      parhelion::parse_json(text, "adapter_config.json", {.depth = 32, .values = 10'000}),
      "adapter_config.json");
}

bool is_refusal(ErrorKind kind) {
  return kind == ErrorKind::invalid || kind == ErrorKind::corrupt || kind == ErrorKind::unsupported;
}

void expect_written_config_reads_back(AdapterConfig config) {
  config.lora.modules = {"model.layers.0.self_attn.q_proj"};
  const AdapterConfig again = read_config_text(
      parhelion::model::adapter_config_text(config, {"model.layers.0.self_attn.q_proj"}));
  config.lora.modules.clear();
  parhelion::ensure(again.lora == config.lora && again.base == config.base &&
                        again.base_digest == config.base_digest,
                    ErrorKind::bug, "adapter_config.json: does not read back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  AdapterConfig config;
  try {
    config = read_config_text({reinterpret_cast<const char*>(data), size});
  } catch (const Error& error) {
    if (!is_refusal(error.kind())) throw;
    return 0;
  }
  expect_written_config_reads_back(config);
  return 0;
}
