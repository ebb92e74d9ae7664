#include "app/train_score.h"

#include "app/weights.h"
#include "base/error.h"
#include "ir/passes/lower.h"
#include "model/programs.h"

#include <algorithm>
#include <numeric>

namespace parhelion::app {
namespace {

constexpr std::int32_t kIgnoredLabel = -100;

/// One document; each token's label is the next token.
void write_document(exec::Plan& plan, std::span<const std::int32_t> ids) {
  std::ranges::copy(ids, exec::host_span<std::int32_t>(plan, "token_ids").begin());
  const auto positions = exec::host_span<std::int32_t>(plan, "positions");
  std::iota(positions.begin(), positions.end(), 0);
  const auto labels = exec::host_span<std::int32_t>(plan, "labels");
  std::copy(ids.begin() + 1, ids.end(), labels.begin());
  labels.back() = kIgnoredLabel;
  const auto indptr = exec::host_span<std::int32_t>(plan, "document_indptr");
  indptr[0] = 0;
  indptr[1] = static_cast<std::int32_t>(ids.size());
  std::ranges::fill(exec::host_span<float>(plan, "loss_weight"), 1.0f);
}

void check_ids(const model::Model& model, std::span<const std::int32_t> ids) {
  ensure(ids.size() >= 2, ErrorKind::invalid, "score: the text has {} tokens, expected at least 2",
         ids.size());
  ensure(static_cast<std::int64_t>(ids.size()) <= model.max_positions, ErrorKind::invalid,
         "score: the text has {} tokens, the model's context holds {}", ids.size(),
         model.max_positions);
  for (const std::int32_t id : ids) {
    ensure(id >= 0 && id < model.vocabulary, ErrorKind::invalid,
           "score: id {} is outside the vocabulary of {}", id, model.vocabulary);
  }
}

}  // namespace

std::vector<float> score_through_training(const model::OpenedModel& opened,
                                          std::span<const std::int32_t> ids, ir::Kind kind,
                                          exec::Executor& executor) {
  check_ids(opened.model, ids);
  ir::Capacities capacities;
  capacities[ir::Symbol::tokens] = static_cast<std::int64_t>(ids.size());
  capacities[ir::Symbol::documents] = 1;
  const auto plan = executor.plan(
      ir::lower(model::build_train(opened.model, kind).program, capacities), exec::Weights::frozen);
  upload_weights(opened, kind, executor);
  write_document(*plan, ids);
  plan->run();
  const std::span<const float> loss = exec::host_span<float>(*plan, "loss");
  std::vector<float> result;
  for (std::size_t i = 0; i + 1 < loss.size(); ++i) result.push_back(0.0f - loss[i]);
  return result;
}

}  // namespace parhelion::app
