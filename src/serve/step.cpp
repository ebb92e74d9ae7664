#include "serve/step.h"

#include "base/error.h"
#include "ir/passes/lower.h"
#include "serve/step_choice.h"
#include "serve/step_inputs.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace parhelion::serve {
namespace {

auto size_of(const ir::Capacities& of) {
  return std::tuple(of[ir::Symbol::tokens], of[ir::Symbol::logit_rows], of[ir::Symbol::rows]);
}

/// What a contract leaves open until it is loaded.
struct Bound {
  std::int64_t pages_per_row, pages;
};

InstanceSet plan_instances(const ir::Program& program, std::vector<ir::Capacities> catalogue,
                           Bound bound, exec::Executor& executor, exec::Weights weights) {
  InstanceSet set;
  std::ranges::sort(catalogue,
                    [](const auto& a, const auto& b) { return size_of(a) < size_of(b); });
  const ir::BufferId edits = ir::find_buffer(program, "edit_ids");
  for (ir::Capacities& instance : catalogue) {
    instance[ir::Symbol::pages_per_row] = bound.pages_per_row;
    instance[ir::Symbol::pages] = bound.pages;
    set.plans.push_back(executor.plan(ir::lower(program, instance), weights));
    set.edits.push_back(edits ? ir::evaluate(program.at(edits).type.shape[0], instance) : 0);
  }
  set.catalogue = std::move(catalogue);
  return set;
}

template <class T>
const T* output(exec::Plan& plan, std::string_view name) {
  return exec::host_span<T>(plan, name).data();
}

}  // namespace

Stepper::Stepper(const contract::Contract& contract, exec::Executor& executor,
                 exec::Weights weights, std::int64_t pages)
    : page_tokens_(contract.cache.page_tokens) {
  contract::validate(contract);
  const Bound bound{(contract.cache.context_tokens + page_tokens_ - 1) / page_tokens_, pages};
  plain_ = plan_instances(contract.extend, contract.catalogue, bound, executor, weights);
  edited_ = plan_instances(contract.edited, contract.edited_catalogue, bound, executor, weights);
  embed_ = plan_instances(contract.embed, contract.embed_catalogue, bound, executor, weights);
  if (!contract.copy_pages.ops.empty()) {
    ir::Capacities capacities;
    capacities[ir::Symbol::pages] = pages;
    copy_ = executor.plan(ir::lower(contract.copy_pages, capacities), weights);
  }
  const ir::BufferId drawn = ir::find_buffer(contract.extend, "drawn_tokens");
  slots_ = ir::number(contract.extend.at(drawn).type.shape[0]);
  answers_.reserve(static_cast<std::size_t>(
      std::max({most_queries(plain_), most_queries(edited_), most_queries(embed_)})));
  top_ids_.resize(static_cast<std::size_t>(most_queries(edited_)) * kMostTopTokens);
  top_log_probabilities_.resize(top_ids_.size());
  embedding_width_ = static_cast<std::size_t>(contract::embedding_width(contract));
  embeddings_.resize(static_cast<std::size_t>(most_queries(embed_)) * embedding_width_);
}

const InstanceSet& Stepper::instances(StepKind kind) const {
  if (kind == StepKind::embed) return embed_;
  return kind == StepKind::plain ? plain_ : edited_;
}

void Stepper::prepare(std::span<const StepRow> rows, StepKind kind) {
  const std::optional<std::size_t> at = covering_instance(instances(kind), rows);
  ensure(at.has_value(), ErrorKind::bug, "step: no instance covers {} rows", rows.size());
  prepare(rows, kind, *at);
}

void Stepper::prepare(std::span<const StepRow> rows, StepKind kind, std::size_t instance) {
  prepared_ = {.kind = kind, .instance = instance};
  for (const StepRow& row : rows) prepared_.queries += row.queries.size();
  write_inputs(plan_of(prepared_), rows, page_tokens_, kind);
  if (kind == StepKind::edited) write_edits(plan_of(prepared_), rows);
}

void Stepper::start() {
  started_ = prepared_;
  plan_of(started_).start();
}

std::span<const LogitAnswer> Stepper::finish() {
  exec::Plan& plan = plan_of(started_);
  plan.wait();
  copy_answers(plan);
  return answers_;
}

void Stepper::copy_answers(exec::Plan& plan) {
  answers_.clear();
  if (started_.kind == StepKind::embed) return copy_embeddings(plan);
  copy_draws(plan);
}

/// An answer whose vector is not finite looks as one whose logits are not.
void Stepper::copy_embeddings(exec::Plan& plan) {
  std::copy_n(output<float>(plan, "embedding"), started_.queries * embedding_width_,
              embeddings_.begin());
  for (std::size_t i = 0; i < started_.queries; ++i) {
    const auto vector = std::span(embeddings_).subspan(i * embedding_width_, embedding_width_);
    const bool is_finite =
        std::ranges::all_of(vector, [](float value) { return std::isfinite(value); });
    answers_.push_back({.sampled = is_finite ? 0 : -1, .embedding = vector});
  }
}

void Stepper::copy_draws(exec::Plan& plan) {
  const auto* target = output<float>(plan, "log_probability");
  const auto* sampled = output<std::int32_t>(plan, "sampled_ids");
  const auto* drawn = output<float>(plan, "sampled_log_probability");
  for (std::size_t i = 0; i < started_.queries; ++i)
    answers_.push_back({target[i], sampled[i], drawn[i]});
  if (started_.kind == StepKind::plain) return;
  const std::size_t count = started_.queries * kMostTopTokens;
  std::copy_n(output<std::int32_t>(plan, "top_ids"), count, top_ids_.begin());
  std::copy_n(output<float>(plan, "top_log_probability"), count, top_log_probabilities_.begin());
  for (std::size_t i = 0; i < started_.queries; ++i) {
    answers_[i].top_ids = std::span(top_ids_).subspan(i * kMostTopTokens, kMostTopTokens);
    answers_[i].top_log_probabilities =
        std::span(top_log_probabilities_).subspan(i * kMostTopTokens, kMostTopTokens);
  }
}

void Stepper::copy_pages(std::span<const std::pair<std::int32_t, std::int32_t>> pages) {
  while (!pages.empty()) {
    const auto sources = exec::host_span<std::int32_t>(*copy_, "source_page");
    const auto destinations = exec::host_span<std::int32_t>(*copy_, "destination_page");
    const std::size_t count = std::min(pages.size(), sources.size());
    std::ranges::fill(sources, -1);
    std::ranges::fill(destinations, 0);
    for (std::size_t i = 0; i < count; ++i) std::tie(sources[i], destinations[i]) = pages[i];
    copy_->start();
    pages = pages.subspan(count);
  }
}

}  // namespace parhelion::serve
