#include "app/cli/command.h"
#include "app/export_model.h"
#include "app/model_files.h"

#include <CLI/CLI.hpp>

#include <iterator>
#include <memory>

namespace parhelion::app {
namespace {

struct ExportOptions {
  std::filesystem::path model;
  std::filesystem::path adapter;
  std::filesystem::path directory;
  std::string dtype = "f32";
  bool adapter_only = false;
};

void run_export(const ExportOptions& options) {
  const std::filesystem::path path = resolve_model(options.model, train::Verify::contents);
  const model::OpenedModel opened = open_with_adapter(path, options.adapter);
  const ir::Kind kind = options.dtype == "f32" ? ir::Kind::f32 : ir::Kind::bf16;
  if (options.adapter_only) {
    export_adapter(opened, kind, options.directory);
    return print(fmt::format("{}: an adapter of {} modules as {}\n", options.directory.string(),
                             opened.model.lora->modules.size(), options.dtype));
  }
  std::vector<train::ModelFile> files = config_files(path);
  std::ranges::move(tokenizer_files(path), std::back_inserter(files));
  export_hugging_face(opened, std::move(files), kind, options.directory);
  print(fmt::format("{}: {} parameter tensors as {}{}\n", options.directory.string(),
                    model::parameters(model::base_of(opened.model)).size(), options.dtype,
                    opened.adapter ? ", the adapter merged" : ""));
}

}  // namespace

void add_export(CLI::App& app) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command =
      app.add_subcommand("export", "Write a model or checkpoint as a Hugging Face directory");
  command->add_option("MODEL", options->model, kModelHelp)->required();
  command->add_option("DIRECTORY", options->directory, "what to make; may be there if it is empty")
      ->required();
  command->add_option("--adapter", options->adapter,
                      "adapter to merge: a PEFT directory, or a training checkpoint or run of one");
  command->add_flag("--adapter-only", options->adapter_only,
                    "write the adapter alone, as Hugging Face's PEFT directory");
  command->add_option("--dtype", options->dtype, "storage of weights")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  command->callback([options] { run_export(*options); });
}

}  // namespace parhelion::app
