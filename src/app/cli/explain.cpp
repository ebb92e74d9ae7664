#include "app/cli/command.h"
#include "app/in_memory_contract.h"
#include "app/model_files.h"
#include "ir/autodiff/differentiate.h"
#include "ir/cost_summary.h"
#include "ir/passes/lower.h"
#include "ir/print.h"
#include "model/open.h"
#include "model/programs.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace parhelion::app {
namespace {

struct ExplainOptions {
  RunOptions run;
  std::int64_t tokens = 1;
  std::string entry = "extend";
};

ir::Program entry_program(const ExplainOptions& options, const model::OpenedModel& opened) {
  const model::Model& model = opened.model;
  const ir::Kind kind = kind_of(options.run, opened);
  if (options.entry == "extend") return model::build_extend(model, kind, kPageTokens);
  model::TrainProgram train = model::build_train(model, kind);
  if (options.entry == "gradients") ir::differentiate(train.program, train.total_loss);
  return std::move(train.program);
}

ir::Capacities entry_capacities(const ExplainOptions& options, const model::Model& model) {
  ir::Capacities capacities = one_row(options.tokens, 1);
  capacities[ir::Symbol::documents] = 1;
  capacities[ir::Symbol::pages_per_row] = (model.max_positions + kPageTokens - 1) / kPageTokens;
  capacities[ir::Symbol::pages] = capacities[ir::Symbol::pages_per_row] + 1;
  return capacities;
}

std::string print_steps(const exec::Plan& plan) {
  const ir::Program& instance = plan.instance();
  std::string text = "kernels:\n";
  for (std::size_t i = 0; i < instance.ops.size(); ++i) {
    const ir::OpNode& node = instance.ops[i];
    const exec::StepReport& step = plan.steps()[i];
    const ir::Cost cost =
        ir::cost(node.op, ir::input_types(instance, node), ir::output_types(instance, node));
    text += fmt::format("{:>5} {:<28} {:<30} {:>12.4g} flops {:>12.4g} bytes {:>10} scratch  {}\n",
                        i + 1, step.kernel, step.numerics, cost.flops, cost.bytes,
                        step.workspace_bytes, instance.labels[node.label]);
    for (const std::string& refusal : step.refusals)
      text += fmt::format("      refused {}\n", refusal);
  }
  return text;
}

void run_explain(const ExplainOptions& options) {
  const model::OpenedModel opened = open_with_adapter(options.run.model, options.run.adapter);
  const auto executor = make_executor(options.run.executor);
  const auto plan = executor->plan(
      ir::lower(entry_program(options, opened), entry_capacities(options, opened.model)),
      options.entry == "gradients" ? exec::Weights::trained : exec::Weights::frozen);
  print(fmt::format("device: {}\n\n{}\n{}\n{}\n{}", executor->describe(),
                    ir::print(plan->instance()), print_steps(*plan),
                    ir::print(ir::summarize_cost(plan->instance())),
                    ir::print(plan->memory(), plan->instance())));
}

}  // namespace

void add_explain(CLI::App& app) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand(
      "explain", "Show the program that a model runs as: ops, kernels, cost, memory");
  add_run_options(*command, options->run);
  command->add_option("--tokens", options->tokens, "tokens of one execution")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command
      ->add_option("--entry", options->entry,
                   "extend serves, train is the forward pass, gradients both passes")
      ->check(CLI::IsMember({"extend", "train", "gradients"}))
      ->capture_default_str();
  command->callback([options] {
    options->run.model = resolve_model(options->run.model);
    run_explain(*options);
  });
}

}  // namespace parhelion::app
