#include "prepare/make_contract.h"

#include "model/programs.h"

#include <algorithm>

namespace parhelion::prepare {
namespace {

contract::SamplingValue value_between(double lowest, double standard, double highest) {
  return {.standard = standard, .lowest = lowest, .highest = highest};
}

contract::SamplingPolicy sampling_policy(const model::Model& model) {
  const model::Sampling& low = model.sampling_ranges.lowest;
  const model::Sampling& standard = model.sampling;
  const model::Sampling& high = model.sampling_ranges.highest;
  return {
      .temperature = value_between(low.temperature, standard.temperature, high.temperature),
      .top_k = value_between(static_cast<double>(low.top_k), static_cast<double>(standard.top_k),
                             static_cast<double>(high.top_k)),
      .top_p = value_between(low.top_p, standard.top_p, high.top_p),
      .min_p = value_between(low.min_p, standard.min_p, high.min_p),
      .repetition_penalty = value_between(low.repetition_penalty, standard.repetition_penalty,
                                          high.repetition_penalty)};
}

}  // namespace

std::vector<ir::Capacities> serving_catalogue(std::int64_t rows, std::int64_t step_tokens) {
  std::vector<ir::Capacities> catalogue;
  const auto add = [&](std::int64_t tokens, std::int64_t of_rows, std::int64_t logit_rows) {
    ir::Capacities instance;
    instance[ir::Symbol::tokens] = tokens;
    instance[ir::Symbol::rows] = of_rows;
    instance[ir::Symbol::logit_rows] = logit_rows;
    catalogue.push_back(instance);
  };
  for (std::int64_t decoding = 1; decoding < rows; decoding *= 2) add(decoding, decoding, decoding);
  add(rows, rows, rows);
  constexpr std::int64_t kLeastPrompt = 32;
  constexpr std::int64_t kScored = 64;  // prompt tokens of a step whose log-probability is told
  std::int64_t tokens = std::max(kLeastPrompt, 2 * rows);
  for (; tokens < step_tokens; tokens *= 2) add(tokens, rows, rows);
  add(std::max(tokens, step_tokens), rows, rows);
  if (rows < kScored) add(std::max(kScored, rows + 1), rows, std::max(kScored, rows + 1));
  return catalogue;
}

std::vector<ir::Capacities> embedding_catalogue(std::int64_t rows, std::int64_t step_tokens) {
  std::vector<ir::Capacities> catalogue;
  const auto add = [&](std::int64_t tokens) {
    ir::Capacities instance;
    instance[ir::Symbol::tokens] = tokens;
    instance[ir::Symbol::rows] = instance[ir::Symbol::logit_rows] = rows;
    catalogue.push_back(instance);
  };
  const std::int64_t least = std::max<std::int64_t>(32, 2 * rows);
  for (std::int64_t tokens = least; tokens < step_tokens; tokens *= 4) add(tokens);
  add(std::max(least, step_tokens));
  return catalogue;
}

ir::Capacities one_row(std::int64_t tokens, std::int64_t logit_rows) {
  ir::Capacities capacities;
  capacities[ir::Symbol::tokens] = tokens;
  capacities[ir::Symbol::rows] = 1;
  capacities[ir::Symbol::logit_rows] = logit_rows;
  return capacities;
}

/// Ids that a request may give a bias.
constexpr std::int64_t kMostBiases = 1024;

contract::Contract make_contract(const model::Model& model, const ServingShape& shape) {
  model::ExtendShape extend{.page_tokens = shape.page_tokens, .slots = shape.slots};
  // One sequence with penalties may name every id of its context, and those of its biases.
  extend.free_edits =
      std::max(extend.free_edits, std::min(model.vocabulary, shape.context_tokens + kMostBiases));
  contract::Contract contract = {
      .model = model.architecture,
      .extend = model::build_extend(model, shape.kind, extend),
      .catalogue = shape.catalogue,
      .vocabulary = model.vocabulary,
      .cache = {.page_tokens = shape.page_tokens, .context_tokens = shape.context_tokens},
      .sampling = sampling_policy(model),
      .stop_ids = model.eos_ids};
  if (!shape.edited_catalogue.empty()) {
    contract.edited = model::build_extend(model, shape.kind, extend, model::Edits::on);
    contract.edited_catalogue = shape.edited_catalogue;
  } else {
    contract.sampling.repetition_penalty.standard = 1;  // only edited programs have penalties
  }
  contract.copy_pages =
      model::build_copy_pages(model, shape.kind, shape.page_tokens, shape.copy_lanes);
  if (!shape.embed_catalogue.empty()) {
    contract.embed = model::build_embed(model, shape.kind, extend);
    contract.embed_catalogue = shape.embed_catalogue;
    contract.embedding = shape.embedding;
  }
  return contract;
}

}  // namespace parhelion::prepare
