#include "serve/step.h"

#include "base/error.h"
#include "ir/passes/lower.h"
#include "serve/step_inputs.h"

#include <algorithm>
#include <tuple>

namespace parhelion::serve {
namespace {

auto size_of(const ir::Capacities& of) {
  return std::tuple(of[ir::Symbol::tokens], of[ir::Symbol::logit_rows], of[ir::Symbol::rows]);
}

struct Need {
  std::int64_t tokens = 0;
  std::int64_t queries = 0;
  std::int64_t rows = 0;
};

Need need_of(std::span<const StepRow> rows) {
  Need need{.rows = static_cast<std::int64_t>(rows.size())};
  for (const StepRow& row : rows) {
    need.tokens += static_cast<std::int64_t>(row.tokens.size());
    need.queries += static_cast<std::int64_t>(row.queries.size());
  }
  return need;
}

bool covers(const ir::Capacities& instance, const Need& need) {
  return instance[ir::Symbol::tokens] >= need.tokens &&
         instance[ir::Symbol::logit_rows] >= need.queries &&
         instance[ir::Symbol::rows] >= need.rows;
}

}  // namespace

Stepper::Stepper(const contract::Contract& contract, exec::Executor& executor,
                 exec::Weights weights)
    : page_tokens_(contract.cache.page_tokens), catalogue_(contract.catalogue) {
  contract::validate(contract);
  std::ranges::sort(catalogue_,
                    [](const auto& a, const auto& b) { return size_of(a) < size_of(b); });
  std::int64_t most_queries = 0;
  for (ir::Capacities& instance : catalogue_) {
    const std::int64_t pages = (contract.cache.context_tokens + page_tokens_ - 1) / page_tokens_;
    instance[ir::Symbol::pages_per_row] = pages;
    instance[ir::Symbol::pages] = pages + 1;  // the null page comes first
    plans_.push_back(executor.plan(ir::lower(contract.extend, instance), weights));
    most_queries = std::max(most_queries, instance[ir::Symbol::logit_rows]);
  }
  answers_.reserve(static_cast<std::size_t>(most_queries));
}

std::int64_t Stepper::most_tokens(std::int64_t queries) const {
  std::int64_t most = 0;
  for (const ir::Capacities& instance : catalogue_) {
    if (instance[ir::Symbol::logit_rows] >= queries)
      most = std::max(most, instance[ir::Symbol::tokens]);
  }
  return most;
}

exec::Plan& Stepper::choose(std::span<const StepRow> rows) {
  const Need need = need_of(rows);
  const auto at = std::ranges::find_if(
      catalogue_, [&](const auto& instance) { return covers(instance, need); });
  ensure(at != catalogue_.end(), ErrorKind::bug,
         "step: no instance covers {} tokens, {} queries, {} rows", need.tokens, need.queries,
         need.rows);
  return *plans_[static_cast<std::size_t>(at - catalogue_.begin())];
}

std::span<const LogitAnswer> Stepper::run(std::span<const StepRow> rows) {
  exec::Plan& plan = choose(rows);
  write_inputs(plan, rows, page_tokens_);
  plan.run();
  answers_.clear();
  const auto* target = reinterpret_cast<const float*>(plan.host("log_probability").data());
  const auto* sampled = reinterpret_cast<const std::int32_t*>(plan.host("sampled_ids").data());
  const auto* drawn = reinterpret_cast<const float*>(plan.host("sampled_log_probability").data());
  const std::int64_t queries = need_of(rows).queries;
  for (std::int64_t i = 0; i < queries; ++i) answers_.push_back({target[i], sampled[i], drawn[i]});
  return answers_;
}

}  // namespace parhelion::serve
