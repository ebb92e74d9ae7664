#include "contract/contract.h"

#include "base/error.h"
#include "ir/verify.h"

#include <array>
#include <string_view>

namespace parhelion::contract {
namespace {

constexpr std::array<std::string_view, 14> kInputs = {
    "token_ids",      "positions",   "query_indptr", "kv_length",   "page_table",
    "write_location", "logit_index", "target_ids",   "temperature", "top_k",
    "top_p",          "min_p",       "seed",         "draw_offset"};
constexpr std::array<std::string_view, 3> kOutputs = {"log_probability", "sampled_ids",
                                                      "sampled_log_probability"};

void check_buffer(const ir::Program& program, std::string_view name, ir::Role role) {
  const ir::BufferId buffer = ir::find_buffer(program, name);
  ensure(buffer && program.at(buffer).role == role, ErrorKind::invalid,
         "contract: extend has no {} '{}'", ir::name(role), name);
}

void check_value(std::string_view name, const SamplingValue& value) {
  const bool inside = value.lowest <= value.standard && value.standard <= value.highest;
  ensure(inside, ErrorKind::invalid,
         "contract: sampling {} is {} in [{}, {}], expected inside its range", name, value.standard,
         value.lowest, value.highest);
}

}  // namespace

void validate(const Contract& contract) {
  ir::verify(contract.extend);
  for (const std::string_view name : kInputs) check_buffer(contract.extend, name, ir::Role::input);
  for (const std::string_view name : kOutputs)
    check_buffer(contract.extend, name, ir::Role::output);
  ensure(!contract.catalogue.empty(), ErrorKind::invalid,
         "contract: catalogue is empty, expected one instance");
  for (const ir::Capacities& instance : contract.catalogue) {
    const bool positive = instance[ir::Symbol::tokens] > 0 && instance[ir::Symbol::rows] > 0 &&
                          instance[ir::Symbol::logit_rows] > 0;
    ensure(positive, ErrorKind::invalid,
           "contract: an instance has a capacity of 0, expected tokens, rows, logit_rows");
  }
  ensure(contract.vocabulary > 0, ErrorKind::invalid, "contract: vocabulary is {}, expected > 0",
         contract.vocabulary);
  ensure(contract.cache.page_tokens > 0 && contract.cache.context_tokens > 0, ErrorKind::invalid,
         "contract: page_tokens {}, context_tokens {}, expected > 0", contract.cache.page_tokens,
         contract.cache.context_tokens);
  check_value("temperature", contract.sampling.temperature);
  check_value("top_k", contract.sampling.top_k);
  check_value("top_p", contract.sampling.top_p);
  check_value("min_p", contract.sampling.min_p);
  ensure(contract.sampling.temperature.lowest == 0, ErrorKind::invalid,
         "contract: sampling temperature starts at {}, expected 0",
         contract.sampling.temperature.lowest);
}

}  // namespace parhelion::contract
