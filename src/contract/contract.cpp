#include "contract/contract.h"

#include "base/error.h"
#include "base/problems.h"
#include "contract/check_golden.h"
#include "contract/check_program.h"
#include "ir/passes/instantiate.h"
#include "ir/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>

namespace parhelion::contract {
namespace {

// Positions, lengths and ids are 32-bit numbers on the device, sums of a few of them too.
constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;
constexpr double kNoBound = std::numeric_limits<float>::max();
constexpr std::int64_t kDefaultCompletionTokens = 8;
constexpr std::int64_t kMostCompletionTokens = 64;

/// A sampling value of the policy, and between which bounds its range may lie.
struct LegalRange {
  std::string_view name;
  const SamplingValue& value;
  double lowest;
  double highest;
};

std::vector<LegalRange> legal_ranges(const SamplingPolicy& policy) {
  return {{"temperature", policy.temperature, 0, kNoBound},
          {"top_k", policy.top_k, 0, kMostTopK},
          {"top_p", policy.top_p, 0, 1},
          {"min_p", policy.min_p, 0, 1},
          {"repetition_penalty", policy.repetition_penalty, std::numeric_limits<float>::min(),
           kNoBound},
          {"presence_penalty", policy.presence_penalty, -2, 2},
          {"frequency_penalty", policy.frequency_penalty, -2, 2}};
}

void check_sampling(const SamplingPolicy& policy, Problems& problems) {
  for (const LegalRange& legal : legal_ranges(policy)) {
    const SamplingValue& value = legal.value;
    problems.expect(value.lowest <= value.standard && value.standard <= value.highest,
                    "sampling {} is {} in [{}, {}], expected inside its range", legal.name,
                    value.standard, value.lowest, value.highest);
    problems.expect(value.lowest >= legal.lowest && value.highest <= legal.highest,
                    "sampling {} has the range [{}, {}], expected inside [{}, {}]", legal.name,
                    value.lowest, value.highest, legal.lowest, legal.highest);
  }
  problems.expect(policy.temperature.lowest == 0, "sampling temperature starts at {}, expected 0",
                  policy.temperature.lowest);
  problems.expect(policy.max_tokens >= 0, "sampling max_tokens is {}, expected >= 0",
                  policy.max_tokens);
}

void check_tokens(std::string_view name, std::int64_t count, Problems& problems) {
  problems.expect(count > 0 && count <= kMostTokens, "{} is {}, expected 1 to {}", name, count,
                  kMostTokens);
}

void check_catalogue(std::string_view name, const std::vector<ir::Capacities>& catalogue,
                     const std::vector<InstancePlan>& plans, Problems& problems) {
  for (const ir::Capacities& instance : catalogue) {
    const bool positive = instance[ir::Symbol::tokens] > 0 && instance[ir::Symbol::rows] > 0 &&
                          instance[ir::Symbol::logit_rows] > 0;
    problems.expect(positive, "an instance has a capacity of 0, expected tokens, rows, logit_rows");
    const bool bounded = std::ranges::all_of(instance.of, [](std::int64_t capacity) {
      return capacity <= std::numeric_limits<std::int32_t>::max();
    });
    problems.expect(bounded, "an instance has a capacity above {}, which indices cannot hold",
                    std::numeric_limits<std::int32_t>::max());
  }
  problems.expect(plans.empty() || plans.size() == catalogue.size(),
                  "{} has plans of {} instances, expected {}", name, plans.size(),
                  catalogue.size());
}

void check_catalogues(const Contract& contract, Problems& problems) {
  problems.expect(!contract.catalogue.empty(), "catalogue is empty, expected one instance");
  check_catalogue("extend", contract.catalogue, contract.plans, problems);
  check_catalogue("edited", contract.edited_catalogue, contract.edited_plans, problems);
  const bool offered = !contract.edited.ops.empty();
  problems.expect(offered == !contract.edited_catalogue.empty(),
                  "edited has {} ops and {} instances, expected both or none",
                  contract.edited.ops.size(), contract.edited_catalogue.size());
  check_catalogue("embed", contract.embed_catalogue, contract.embed_plans, problems);
  problems.expect(contract.embed.ops.empty() == contract.embed_catalogue.empty(),
                  "embed has {} ops and {} instances, expected both or none",
                  contract.embed.ops.size(), contract.embed_catalogue.size());
  const std::size_t copies = contract.copy_pages.ops.empty() ? 0 : 1;
  problems.expect(contract.copy_plans.empty() || contract.copy_plans.size() == copies,
                  "copy_pages has plans of {} instances, expected {}", contract.copy_plans.size(),
                  copies);
}

void check_embedding(const Contract& contract, Problems& problems) {
  const std::int64_t width = embedding_width(contract);
  for (const std::int64_t dimension : contract.embedding.dimensions)
    problems.expect(dimension >= 1 && dimension <= width,
                    "embedding dimension is {}, expected 1 to {}", dimension, width);
}

std::int64_t largest(const Contract& contract, ir::Symbol symbol) {
  std::int64_t most = 0;
  for (const ir::Capacities& instance : contract.catalogue) most = std::max(most, instance[symbol]);
  return most;
}

void check_limit(std::string_view name, std::int64_t limit, std::int64_t most, Problems& problems) {
  problems.expect(limit >= 0 && limit <= most, "limit {} is {}, expected 0 to {}", name, limit,
                  most);
}

void check_limits(const Contract& contract, Problems& problems) {
  const Limits& limits = contract.limits;
  const std::int64_t context = contract.cache.context_tokens;
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  check_limit("rows", limits.rows, largest(contract, ir::Symbol::rows), problems);
  check_limit("step_tokens", limits.step_tokens, largest(contract, ir::Symbol::tokens), problems);
  check_limit("prompt_tokens", limits.prompt_tokens, context, problems);
  check_limit("output_tokens", limits.output_tokens, context, problems);
  check_limit("request_sequences", limits.request_sequences, kMost, problems);
  check_limit("queued_requests", limits.queued_requests, kMost, problems);
  problems.expect(
      contract.completion_tokens >= 0 && contract.completion_tokens <= kMostCompletionTokens,
      "completion_tokens is {}, expected 0 to {}", contract.completion_tokens,
      kMostCompletionTokens);
  const std::int64_t capacity = completion_capacity(contract);
  problems.expect(contract.verify_tokens >= 1 && contract.verify_tokens <= capacity,
                  "verify_tokens is {}, expected 1 to the completion capacity of {}",
                  contract.verify_tokens, capacity);
}

void check_ids(const Contract& contract, Problems& problems) {
  const auto check = [&](std::string_view what, std::int32_t id) {
    problems.expect(id >= 0 && id < contract.vocabulary, "{} {} is outside the vocabulary of {}",
                    what, id, contract.vocabulary);
  };
  const Frontend& frontend = contract.frontend;
  for (const std::int32_t id : contract.stop_ids) check("stop id", id);
  for (const std::int32_t id : frontend.special_ids) check("special id", id);
  if (frontend.bos_id) check("bos_id", *frontend.bos_id);
  if (frontend.pad_id) check("pad_id", *frontend.pad_id);
  if (frontend.unknown_id) check("unknown_id", *frontend.unknown_id);
  problems.expect(!frontend.add_bos || frontend.bos_id, "add_bos is set, but there is no bos_id");
  std::set<std::string_view> names;
  for (const Asset& asset : frontend.assets) {
    problems.expect(!asset.name.empty() && names.insert(asset.name).second,
                    "asset '{}' has a name that is empty or taken", asset.name);
  }
}

/// The capacities of a catalogue with those that the contract gives.
std::vector<ir::Capacities> planned_instances(const Contract& contract,
                                              std::vector<ir::Capacities> catalogue) {
  const CachePolicy& cache = contract.cache;
  ensure(cache.page_tokens > 0 && cache.context_tokens > 0, ErrorKind::invalid,
         "contract: page_tokens {}, context_tokens {}, expected > 0", cache.page_tokens,
         cache.context_tokens);
  const std::int64_t pages = (cache.context_tokens - 1) / cache.page_tokens + 1;
  for (ir::Capacities& instance : catalogue) {
    instance[ir::Symbol::pages_per_row] = pages;
    instance[ir::Symbol::pages] = pages + 1;
  }
  return catalogue;
}

std::vector<InstancePlan> plans_of(const EntryView& entry) {
  std::vector<InstancePlan> plans;
  for (const ir::Capacities& instance : entry.instances)
    plans.push_back({.memory = ir::plan_memory(ir::instantiate(*entry.program, instance))});
  return plans;
}

}  // namespace

std::int64_t completion_capacity(const Contract& contract) {
  return contract.completion_tokens == 0 ? kDefaultCompletionTokens : contract.completion_tokens;
}

std::int64_t page_bytes(const Contract& contract) {
  ir::Capacities one;
  one[ir::Symbol::pages] = 1;
  std::int64_t total = 0;
  for (const ir::Buffer& buffer : contract.extend.buffers) {
    const ir::Shape& shape = buffer.type.shape;
    const bool paged = !shape.empty() && shape[0].symbol == ir::Symbol::pages;
    if (buffer.role != ir::Role::state || !paged) continue;
    ir::TensorType type = buffer.type;
    type.shape = ir::evaluate(type.shape, one);
    total += ir::byte_count(type);
  }
  return total;
}

std::int64_t embedding_width(const Contract& contract) {
  const ir::BufferId output = ir::find_buffer(contract.embed, "embedding");
  if (!output) return 0;
  const ir::TensorType& type = contract.embed.at(output).type;
  return type.rank() == 2 && type.shape[1].is_number() ? type.shape[1].base : 0;
}

std::vector<EntryView> entries(const Contract& contract) {
  std::vector<EntryView> result = {{.name = "extend",
                                    .program = &contract.extend,
                                    .instances = planned_instances(contract, contract.catalogue),
                                    .plans = &contract.plans}};
  if (!contract.edited.ops.empty())
    result.push_back({.name = "edited",
                      .program = &contract.edited,
                      .instances = planned_instances(contract, contract.edited_catalogue),
                      .plans = &contract.edited_plans});
  if (!contract.copy_pages.ops.empty())
    result.push_back({.name = "copy_pages",
                      .program = &contract.copy_pages,
                      .instances = planned_instances(contract, {ir::Capacities{}}),
                      .plans = &contract.copy_plans});
  if (!contract.embed.ops.empty())
    result.push_back({.name = "embed",
                      .program = &contract.embed,
                      .instances = planned_instances(contract, contract.embed_catalogue),
                      .plans = &contract.embed_plans});
  return result;
}

void plan_instances(Contract& contract) {
  std::vector<std::vector<InstancePlan>> plans;
  for (const EntryView& entry : entries(contract)) plans.push_back(plans_of(entry));
  contract.plans = std::move(plans.front());
  auto next = plans.begin() + 1;
  if (!contract.edited.ops.empty()) contract.edited_plans = std::move(*next++);
  if (!contract.copy_pages.ops.empty()) contract.copy_plans = std::move(*next++);
  if (!contract.embed.ops.empty()) contract.embed_plans = std::move(*next);
}

void validate(const Contract& contract) {
  for (const ir::Program* program :
       {&contract.extend, &contract.edited, &contract.copy_pages, &contract.embed})
    ir::verify(*program);
  Problems problems;
  check_tokens("vocabulary", contract.vocabulary, problems);
  check_program(contract, problems);
  check_catalogues(contract, problems);
  check_tokens("page_tokens", contract.cache.page_tokens, problems);
  check_tokens("context_tokens", contract.cache.context_tokens, problems);
  problems.expect(contract.target.memory_bytes >= 0, "target memory_bytes is {}, expected >= 0",
                  contract.target.memory_bytes);
  check_sampling(contract.sampling, problems);
  check_limits(contract, problems);
  check_embedding(contract, problems);
  check_ids(contract, problems);
  check_golden(contract, problems);
  problems.raise("contract");
}

}  // namespace parhelion::contract
