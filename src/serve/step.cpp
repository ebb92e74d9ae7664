#include "serve/step.h"

#include "base/error.h"
#include "ir/passes/lower.h"
#include "serve/step_choice.h"
#include "serve/step_inputs.h"

#include <algorithm>
#include <tuple>

namespace parhelion::serve {
namespace {

auto size_of(const ir::Capacities& of) {
  return std::tuple(of[ir::Symbol::tokens], of[ir::Symbol::logit_rows], of[ir::Symbol::rows]);
}

}  // namespace

Stepper::Stepper(const contract::Contract& contract, exec::Executor& executor,
                 exec::Weights weights, std::int64_t pages)
    : page_tokens_(contract.cache.page_tokens), catalogue_(contract.catalogue) {
  contract::validate(contract);
  std::ranges::sort(catalogue_,
                    [](const auto& a, const auto& b) { return size_of(a) < size_of(b); });
  std::int64_t most_queries = 0;
  for (ir::Capacities& instance : catalogue_) {
    instance[ir::Symbol::pages_per_row] =
        (contract.cache.context_tokens + page_tokens_ - 1) / page_tokens_;
    instance[ir::Symbol::pages] = pages;
    plans_.push_back(executor.plan(ir::lower(contract.extend, instance), weights));
    most_queries = std::max(most_queries, instance[ir::Symbol::logit_rows]);
  }
  answers_.reserve(static_cast<std::size_t>(most_queries));
}

std::span<const LogitAnswer> Stepper::run(std::span<const StepRow> rows) {
  const std::optional<std::size_t> at = covering_instance(catalogue_, rows);
  ensure(at.has_value(), ErrorKind::bug, "step: no instance covers {} rows", rows.size());
  last_instance_ = *at;
  exec::Plan& plan = *plans_[*at];
  write_inputs(plan, rows, page_tokens_);
  plan.run();
  answers_.clear();
  const auto* target = reinterpret_cast<const float*>(plan.host("log_probability").data());
  const auto* sampled = reinterpret_cast<const std::int32_t*>(plan.host("sampled_ids").data());
  const auto* drawn = reinterpret_cast<const float*>(plan.host("sampled_log_probability").data());
  std::size_t queries = 0;
  for (const StepRow& row : rows) queries += row.queries.size();
  for (std::size_t i = 0; i < queries; ++i) answers_.push_back({target[i], sampled[i], drawn[i]});
  return answers_;
}

}  // namespace parhelion::serve
