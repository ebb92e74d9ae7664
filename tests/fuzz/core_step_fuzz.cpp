// A program of a core that passes every check of the loader runs a step without touching memory
// that is not its own, whatever its inputs, weights and pages hold. The input of the target says
// how a sound contract is changed and fills its buffers; what the checks refuse is refused as bad
// input.
#include "base/error.h"
#include "base/json.h"
#include "contract/contract.h"
#include "exec/cpu/cpu_executor.h"
#include "fuzz/fuzz.h"
#include "ir/passes/lower.h"
#include "model/recipes/registry.h"
#include "prepare/make_contract.h"
#include "support/capacities.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

namespace {

using namespace parhelion;

constexpr std::string_view kConfig =
    R"({"model_type":"qwen3","vocab_size":40,"hidden_size":16,"intermediate_size":24,"num_hidden_layers":1,)"
    R"("num_attention_heads":2,"num_key_value_heads":1,"head_dim":8,"rms_norm_eps":1e-6,"hidden_act":"silu",)"
    R"("max_position_embeddings":64,"rope_theta":10000,"tie_word_embeddings":true,"eos_token_id":2})";

contract::Contract sound_contract() {
  const Json config = parse_json(kConfig, "config.json");
  const std::vector<ir::Capacities> catalogue = {test::step_capacities(1, 1, 1),
                                                 test::step_capacities(2, 2, 2),
                                                 test::step_capacities(9, 3, 4)};
  return prepare::make_contract(model::find_recipe(config).from_config(config),
                                {.kind = ir::Kind::f32,
                                 .context_tokens = 12,
                                 .catalogue = catalogue,
                                 .page_tokens = 4,
                                 .slots = 3,
                                 .edited_catalogue = catalogue,
                                 .copy_lanes = 3,
                                 .embed_catalogue = {test::step_capacities(9, 3, 3)}});
}

/// Takes an input apart; behind its end are zeros.
class Numbers {
 public:
  Numbers(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t first = rest_.front();
    rest_ = rest_.subspan(1);
    return first;
  }
  std::size_t below(std::size_t count) {
    return count == 0 ? 0 : (std::size_t{byte()} << 8 | byte()) % count;
  }
  /// Fills elements with small numbers, extremes, or bytes as they come.
  void fill(std::span<std::byte> bytes) {
    constexpr std::int32_t kNumbers[] = {0,  1,  2,  3,  4,       7,         9,        12,
                                         39, 40, -1, -2, 1 << 20, INT32_MAX, INT32_MIN};
    const std::uint8_t kind = byte();
    for (std::size_t at = 0; at < bytes.size(); at += 4) {
      std::int32_t number = kNumbers[byte() % std::size(kNumbers)];
      if (kind % 4 == 0) number = static_cast<std::int32_t>(at / 4);
      if (kind % 4 == 1) number = static_cast<std::int32_t>(below(1 << 16) << 16 | below(1 << 16));
      std::memcpy(bytes.data() + at, &number, std::min<std::size_t>(4, bytes.size() - at));
    }
  }

 private:
  std::span<const std::uint8_t> rest_;
};

/// Changes one thing of a program.
void change(ir::Program& program, Numbers& numbers) {
  ir::OpNode& node = program.ops[numbers.below(program.ops.size())];
  switch (numbers.byte() % 5) {
    case 0:
      if (node.inputs.empty()) return;
      node.inputs[numbers.below(node.inputs.size())].value.index =
          static_cast<std::uint32_t>(1 + numbers.below(program.values.size()));
      return;
    case 1:
      program.buffers[numbers.below(program.buffers.size())].role =
          static_cast<ir::Role>(numbers.byte() % 5);
      return;
    case 2:
      node.op = program.ops[numbers.below(program.ops.size())].op;
      return;
    case 3:
      node.phase = static_cast<ir::Phase>(numbers.byte() % 5);
      return;
    default:
      if (node.outputs.size() < 2) return;
      std::swap(node.outputs.front(), node.outputs.back());
  }
}

std::vector<ir::Program*> programs(contract::Contract& contract) {
  return {&contract.extend, &contract.edited, &contract.copy_pages, &contract.embed};
}

void run_step(const contract::Contract& contract, Numbers& numbers) {
  const std::vector<contract::EntryView> entries = contract::entries(contract);
  const contract::EntryView& entry = entries[numbers.below(entries.size())];
  const auto executor = exec::make_cpu_executor({.threads = 1});
  const auto plan = executor->plan(
      ir::lower(*entry.program, entry.instances[numbers.below(entry.instances.size())]),
      exec::Weights::frozen);
  for (const ir::Buffer& buffer : plan->instance().buffers) {
    if (buffer.role == ir::Role::input) numbers.fill(plan->host(buffer.name));
    if (buffer.role == ir::Role::parameter || buffer.role == ir::Role::state)
      executor->upload(buffer.name, [&](std::span<std::byte> bytes) { numbers.fill(bytes); });
  }
  plan->run();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const contract::Contract sound = sound_contract();
  contract::Contract contract = sound;
  Numbers numbers(data, size);
  try {
    for (int left = numbers.byte() % 4; left > 0; --left)
      change(*programs(contract)[numbers.below(4)], numbers);
    contract::validate(contract);
    run_step(contract, numbers);
  } catch (const Error& error) {
    if (!is_bad_input(error.kind())) throw;
  }
  return 0;
}
