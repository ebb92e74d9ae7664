#pragma once

#include "app/executor.h"
#include "ir/element.h"
#include "model/open.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace parhelion::app {

/// Each adds one subcommand, which runs when the command line names it.
void add_generate(CLI::App& app);
void add_score(CLI::App& app);
void add_serve(CLI::App& app);
void add_chat(CLI::App& app);
void add_tokenize(CLI::App& app);
void add_explain(CLI::App& app);
void add_bench(CLI::App& app);
void add_export(CLI::App& app);
void add_train(CLI::App& app);
void add_inspect(CLI::App& app);
void add_prepare(CLI::App& app);
void add_keys(CLI::App& app);

/// What a MODEL argument may be.
inline constexpr const char* kModelHelp =
    "Hugging Face directory, GGUF file, training checkpoint or run directory";

/// What the MODEL of a command may be that takes cores too.
inline constexpr const char* kModelOrCoreHelp =
    "core file, Hugging Face directory, GGUF file, training checkpoint or run directory";

/// Options that all commands which run a model share.
struct RunOptions {
  std::filesystem::path model;
  std::filesystem::path adapter;  ///< empty: none but what MODEL has
  std::string dtype;              ///< empty: that of the model's weights
  ExecutorChoice executor;
};
inline const std::vector<std::string> kNumerics = {"exact", "invariant", "fast"};
void add_run_options(CLI::App& command, RunOptions& options,
                     const std::vector<std::string>& numerics = kNumerics);
/// What the model runs in: what is asked for, else f32 if all its weights are, else bf16.
ir::Kind kind_of(const RunOptions& options, const model::OpenedModel& opened);

/// What an --adapter argument may be.
inline constexpr const char* kAdapterHelp =
    "adapter to keep beside MODEL's weights: a PEFT directory, or a training checkpoint or run of "
    "one";

/// A whole file or pipe, or standard input where `path` is empty or "-". Errors: invalid.
std::string read_text(const std::filesystem::path& path);

/// Integers separated by white space. Errors: invalid, naming `where` and the word.
std::vector<std::int32_t> parse_ids(std::string_view text, std::string_view where);

/// Writes to standard output at once. Errors: exhausted if it cannot be written.
void print(std::string_view text);

}  // namespace parhelion::app
