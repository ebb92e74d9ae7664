#include "app/cli/command.h"
#include "app/cli/interrupt.h"
#include "app/train_run.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <sys/ioctl.h>
#include <unistd.h>

namespace parhelion::app {
namespace {

struct TrainOptions {
  std::filesystem::path job;
  std::vector<std::string> overrides;
  bool dry_run = false;
  bool describe = false;
};

std::int64_t terminal_width() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col - 1 : 100;
}

/// Lines go to standard output; the live line goes to standard error where that is a terminal.
TrainTerminal make_terminal() {
  const bool is_live = ::isatty(STDERR_FILENO) == 1;
  const auto erase = [is_live] {
    if (is_live) std::fputs("\r\x1b[K", stderr);
  };
  return {.print_line =
              [erase](std::string_view line) {
                erase();
                print(std::string(line) + "\n");
              },
          .show_progress =
              [erase, is_live](std::string_view line) {
                if (!is_live) return;
                erase();
                std::fprintf(stderr, "%.*s", static_cast<int>(line.size()), line.data());
              },
          .width = terminal_width()};
}

void run_train(const TrainOptions& options) {
  if (options.describe) return print(train::describe_job());
  ensure(!options.job.empty(), ErrorKind::invalid, "train: expected a job file, such as job.toml");
  const train::Job job = train::open_job(options.job, options.overrides);
  const TrainTerminal terminal = make_terminal();
  if (options.dry_run) return print_training_plan(job, terminal);
  const Interrupt interrupt;
  run_training(job, terminal, [&] { return interrupt.is_requested(); });
}

}  // namespace

void add_train(CLI::App& app) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* command = app.add_subcommand("train", "Train a model as a job file says");
  command->add_option("job", options->job, "job file (TOML)");
  command->add_option("--set", options->overrides,
                      "set a key in place of the file, such as optimizer.lr=1e-4; may repeat");
  command->add_flag("--dry-run", options->dry_run,
                    "print programs, memory, work, data and schedule, and train nothing");
  command->add_flag("--describe", options->describe, "print the reference of job files");
  command->callback([options] { run_train(*options); });
}

}  // namespace parhelion::app
