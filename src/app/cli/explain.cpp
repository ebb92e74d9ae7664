#include "app/cli/command.h"
#include "app/kernel_table.h"
#include "app/model_files.h"
#include "base/error.h"
#include "ir/autodiff/differentiate.h"
#include "ir/cost_summary.h"
#include "ir/passes/lower.h"
#include "ir/print.h"
#include "model/programs.h"
#include "prepare/make_contract.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <optional>

namespace parhelion::app {
namespace {

struct ExplainOptions {
  RunOptions run;
  std::int64_t tokens = 1;
  std::int64_t batch = 1;
  std::int64_t context = 0;  // 0: the model's positions
  std::string entry = "extend";
  bool measures = false;
};

/// A model to explain needs no weights.
struct ExplainedModel {
  model::Model model;
  ir::Kind kind;
};

ExplainedModel open_explained(const RunOptions& run) {
  if (run.model.extension() != ".json") {
    const model::OpenedModel opened = open_with_adapter(resolve_model(run.model), run.adapter);
    return {.model = opened.model, .kind = kind_of(run, opened)};
  }
  ensure(run.adapter.empty(), ErrorKind::invalid,
         "{}: is a config.json, expected a MODEL with weights for an adapter", run.model.string());
  return {.model = model_of_config(run.model),
          .kind = run.dtype == "f32" ? ir::Kind::f32 : ir::Kind::bf16};
}

ir::Program entry_program(const ExplainOptions& options, const ExplainedModel& opened) {
  if (options.entry == "extend")
    return model::build_extend(opened.model, opened.kind, {.page_tokens = prepare::kPageTokens});
  model::TrainProgram train = model::build_train(opened.model, opened.kind);
  if (options.entry == "gradients") ir::differentiate(train.program, train.total_loss);
  return std::move(train.program);
}

ir::Capacities entry_capacities(const ExplainOptions& options, const model::Model& model) {
  const std::int64_t context = options.context == 0 ? model.max_positions : options.context;
  ensure(options.tokens <= context && context <= model.max_positions, ErrorKind::invalid,
         "explain: {} tokens of a context of {}, expected a context of at least these and at most "
         "the model's {} positions",
         options.tokens, context, model.max_positions);
  ir::Capacities result;
  result[ir::Symbol::tokens] = options.batch * options.tokens;
  result[ir::Symbol::rows] = options.batch;
  result[ir::Symbol::logit_rows] = options.batch;
  result[ir::Symbol::documents] = options.batch;
  result[ir::Symbol::pages_per_row] = (context + prepare::kPageTokens - 1) / prepare::kPageTokens;
  result[ir::Symbol::pages] = options.batch * result[ir::Symbol::pages_per_row] + 1;
  return result;
}

/// Measured in an executor of its own, which gives its memory back.
std::optional<exec::Roofline> roofline_of(const ExplainOptions& options) {
  if (!options.measures && options.run.executor.device != "cuda") return std::nullopt;
  return exec::measure_roofline(*make_executor(options.run.executor));
}

void run_explain(const ExplainOptions& options) {
  const ExplainedModel opened = open_explained(options.run);
  const ir::Program instance =
      ir::lower(entry_program(options, opened), entry_capacities(options, opened.model));
  const std::optional<exec::Roofline> roofline = roofline_of(options);
  const auto executor = make_executor(options.run.executor);
  const auto plan = executor->plan(
      instance, options.entry == "gradients" ? exec::Weights::trained : exec::Weights::frozen);
  print(fmt::format("device: {}\n{}\n{}\n{}\n{}\n{}", executor->describe(),
                    roofline ? print_roofline(*roofline) : "", ir::print(plan->instance()),
                    print_kernels(*plan, roofline ? &*roofline : nullptr),
                    ir::print(ir::summarize_cost(plan->instance())),
                    ir::print(plan->memory(), plan->instance())));
}

}  // namespace

void add_explain(CLI::App& app) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand(
      "explain",
      "Show the program that a model, or a config.json, runs as: ops, kernels, cost, memory");
  add_run_options(*command, options->run);
  command->add_option("--tokens", options->tokens, "new tokens of each row of one execution")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--batch", options->batch, "rows, or documents, of one execution")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command
      ->add_option("--context", options->context,
                   "tokens that each row has; if absent, the model's positions")
      ->check(CLI::Range(1, 1 << 20));
  command
      ->add_option("--entry", options->entry,
                   "extend serves, train is the forward pass, gradients both passes")
      ->check(CLI::IsMember({"extend", "train", "gradients"}))
      ->capture_default_str();
  command->add_flag(
      "--roofline", options->measures,
      "measure the device and tell the least time of each kernel, as always on a GPU");
  command->callback([options] { run_explain(*options); });
}

}  // namespace parhelion::app
