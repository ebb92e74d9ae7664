#include "app/engine_start.h"
#include "app/weights.h"
#include "base/error.h"
#include "base/log.h"
#include "prepare/cost.h"
#include "prepare/frontend.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <unistd.h>

namespace parhelion::app {
namespace {

/// The device that a core asks for, unless the user names another, which is an error then.
ExecutorChoice executor_for(const contract::Target& target, const ServingChoice& choice) {
  ExecutorChoice executor = choice.executor;
  const std::string device(name(target.device));
  ensure(!choice.names_device || executor.device == device, ErrorKind::unsupported,
         "DEVICE_MISMATCH: the core requires --device {}, found --device {}", device,
         executor.device);
  executor.device = device;
  if (target.device == contract::DeviceKind::cpu) return executor;
  const std::string numerics(name(target.numerics));
  ensure(!choice.names_numerics || executor.numerics == numerics, ErrorKind::unsupported,
         "DEVICE_MISMATCH: the core requires --numerics {}, found --numerics {}", numerics,
         executor.numerics);
  executor.numerics = numerics;
  return executor;
}

struct DeviceFacts {
  std::string architecture;
  std::int64_t memory_bytes = 0;
};

DeviceFacts device_facts(const exec::Executor& executor, contract::DeviceKind kind) {
  if (kind == contract::DeviceKind::cuda) {
    const exec::CudaDevice device = exec::cuda_device();
    return {.architecture = device.architecture, .memory_bytes = device.memory_bytes};
  }
  return {.architecture = executor.describe(),
          .memory_bytes = ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE)};
}

void check_architecture(const contract::Target& target, const DeviceFacts& device) {
  ensure(target.architecture.empty() ||
             device.architecture.find(target.architecture) != std::string::npos,
         ErrorKind::unsupported, "DEVICE_MISMATCH: the core requires architecture {}, found {}",
         target.architecture, device.architecture);
}

/// Weights, scratch and ports as the core says, and the pages of this server.
void check_budget(const contract::Contract& contract, std::int64_t cache_tokens,
                  const DeviceFacts& device) {
  const contract::CachePolicy& cache = contract.cache;
  const std::int64_t more_tokens = std::max<std::int64_t>(0, cache_tokens - cache.context_tokens);
  std::int64_t required = 0;
  bool is_too_much = __builtin_mul_overflow(more_tokens / cache.page_tokens,
                                            contract::page_bytes(contract), &required);
  // What the file says is no less than what follows from it.
  const std::int64_t said =
      std::max(contract.target.memory_bytes, prepare::device_need(contract).total());
  is_too_much = __builtin_add_overflow(required, said, &required) || is_too_much;
  if (is_too_much) required = std::numeric_limits<std::int64_t>::max();
  ensure(required <= device.memory_bytes, ErrorKind::exhausted,
         "BUDGET_EXCEEDED: the core with a cache of {} tokens requires {} bytes, found {} bytes of "
         "memory; --cache-tokens and --context ask for less",
         cache_tokens, required, device.memory_bytes);
}

/// What is asked for, which may be less than the core has; 0: what it has.
std::int64_t lowered(std::string_view option, std::int64_t asked, std::int64_t has) {
  ensure(asked <= has, ErrorKind::invalid,
         "LIMIT_RAISED: {}: is {}, expected at most {}, for which the core was prepared", option,
         asked, has);
  return asked == 0 ? has : asked;
}

std::int64_t most_step_tokens(const contract::Contract& contract) {
  std::int64_t most = 0;
  for (const ir::Capacities& instance : contract.catalogue)
    most = std::max(most, instance[ir::Symbol::tokens]);
  return contract.limits.step_tokens == 0 ? most : contract.limits.step_tokens;
}

void lower_limits(const ServingChoice& choice, contract::Contract& contract) {
  contract::Limits& limits = contract.limits;
  contract::CachePolicy& cache = contract.cache;
  limits.rows = lowered("--max-rows", choice.rows, rows_of(contract));
  limits.step_tokens = lowered("--step-tokens", choice.step_tokens, most_step_tokens(contract));
  cache.context_tokens = lowered("--context", choice.context_tokens, cache.context_tokens);
  limits.prompt_tokens = std::min(limits.prompt_tokens, cache.context_tokens);
  limits.output_tokens = std::min(limits.output_tokens, cache.context_tokens);
}

void check_choice(const ServingChoice& choice) {
  ensure(
      choice.dtype.empty(), ErrorKind::invalid,
      "LIMIT_RAISED: --dtype: is {}, but the weights of a core have their types; prepare it with "
      "--dtype",
      choice.dtype);
  ensure(choice.adapter.empty(), ErrorKind::invalid,
         "LIMIT_RAISED: --adapter: a core takes none; prepare it with --adapter");
  ensure(!choice.embeddings.wanted && choice.embeddings.dimensions.empty(), ErrorKind::invalid,
         "LIMIT_RAISED: --embeddings: a core has them or not; prepare it with --embeddings");
}

TextParts text_of(const contract::Frontend& frontend) {
  TextParts parts{.tokenizer = prepare::tokenizer_of(frontend)};
  if (!frontend.chat_template.empty()) {
    parts.template_source = frontend.chat_template;
    parts.chat_template.emplace(frontend.chat_template);
  }
  if (!frontend.reasoning_format.empty())
    parts.reply_format.reasoning = text::reasoning_format(frontend.reasoning_format);
  if (!frontend.tool_format.empty())
    parts.reply_format.tools = text::tool_format(frontend.tool_format);
  return parts;
}

Json::Object core_facts(const contract::Core& core) {
  const contract::Contract& contract = core.contract;
  return Json::Object{{"source", contract.provenance.source},
                      {"prepared_by", contract.provenance.tool},
                      {"prepared_on", contract.provenance.host},
                      {"instances", std::ssize(contract.catalogue)},
                      {"edited_instances", std::ssize(contract.edited_catalogue)},
                      {"embed_instances", std::ssize(contract.embed_catalogue)},
                      {"digest", core.digest},
                      {"signature", name(core.signature)},
                      {"signer", core.signer}};
}

/// Ops of an instance whose kernel is not the one that the core names.
std::int64_t other_kernels(const contract::InstancePlan& prepared, const exec::Plan& plan) {
  const std::span<const exec::StepReport> steps = plan.steps();
  if (prepared.kernels.empty()) return 0;
  if (prepared.kernels.size() != steps.size()) return std::ssize(steps);
  std::int64_t count = 0;
  for (std::size_t i = 0; i < steps.size(); ++i)
    count += steps[i].kernel != prepared.kernels[i].kernel ||
             steps[i].numerics != prepared.kernels[i].numerics;
  return count;
}

/// The kernels of a core by its catalogue.
struct PreparedKernels {
  std::vector<ir::Capacities> catalogue;
  std::vector<contract::InstancePlan> plans;
};

std::int64_t other_kernels(const PreparedKernels& prepared, const serve::InstanceSet& set) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < set.catalogue.size(); ++i) {
    const auto is_same = [&](const ir::Capacities& each) {
      const auto equal = [&](ir::Symbol symbol) {
        return each[symbol] == set.catalogue[i][symbol];
      };
      return equal(ir::Symbol::tokens) && equal(ir::Symbol::rows) && equal(ir::Symbol::logit_rows);
    };
    const auto at = std::ranges::find_if(prepared.catalogue, is_same);
    count += other_kernels(
        prepared.plans[static_cast<std::size_t>(at - prepared.catalogue.begin())], *set.plans[i]);
  }
  return count;
}

/// Tells if the server's choice of kernels is not that of the preparation.
std::function<void(const serve::Stepper&)> kernel_check(const contract::Contract& contract) {
  const PreparedKernels plain{contract.catalogue, contract.plans};
  const PreparedKernels edited{contract.edited_catalogue, contract.edited_plans};
  const PreparedKernels embed{contract.embed_catalogue, contract.embed_plans};
  return [plain, edited, embed, host = contract.provenance.host](const serve::Stepper& stepper) {
    const std::int64_t count = other_kernels(plain, stepper.instances(serve::StepKind::plain)) +
                               other_kernels(edited, stepper.instances(serve::StepKind::edited)) +
                               other_kernels(embed, stepper.instances(serve::StepKind::embed));
    if (count > 0)
      log(LogLevel::warning, "{} ops run on other kernels than the core was prepared with on {}",
          count, host);
  };
}

}  // namespace

EngineStart start_of_core(const ServingChoice& choice, StartTimes& times) {
  check_choice(choice);
  auto core = std::make_shared<contract::Core>(contract::read_core(choice.model, choice.trust));
  times.end_part("check");
  contract::Contract& contract = core->contract;
  const contract::Target& target = contract.target;
  const ExecutorChoice wanted = executor_for(target, choice);
  EngineStart start;
  start.executor = make_executor(wanted);
  start.device = wanted.device;
  start.numerics = name(target.numerics);
  const DeviceFacts device = device_facts(*start.executor, target.device);
  check_architecture(target, device);
  start.facts = core_facts(*core);
  start.weights_id = core->digest;
  lower_limits(choice, contract);
  check_budget(contract, cache_tokens_of(choice, contract, contract.limits.rows), device);
  start.after_plan = kernel_check(contract);
  start.contract = std::move(contract);
  start.read_text = [frontend = std::move(start.contract.frontend)] { return text_of(frontend); };
  start.upload = [core](exec::Executor& executor) { upload_weights(core->weights, executor); };
  times.end_part("device");
  return start;
}

}  // namespace parhelion::app
