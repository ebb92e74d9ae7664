#include "app/cli/command.h"
#include "app/cli/interrupt.h"
#include "app/train_run.h"
#include "base/in_context.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <memory>
#include <optional>
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

/// Lines go to standard output; the live line goes to standard error where that is a terminal. A
/// line that cannot be written is lost: the run keeps it in its log, and must not end of it.
TrainTerminal make_terminal() {
  const bool is_live = ::isatty(STDERR_FILENO) == 1;
  const auto erase = [is_live] {
    if (is_live) std::fputs("\r\x1b[K", stderr);
  };
  return {.print_line =
              [erase](std::string_view line) {
                erase();
                std::fprintf(stdout, "%.*s\n", static_cast<int>(line.size()), line.data());
                std::fflush(stdout);
              },
          .show_progress =
              [erase, is_live](std::string_view line) {
                if (!is_live) return;
                erase();
                std::fprintf(stderr, "%.*s", static_cast<int>(line.size()), line.data());
              },
          .width = terminal_width()};
}

/// Trains until the end of the job or a signal; the latter shows in the exit code.
void train_interruptibly(const train::Job& job) {
  std::signal(SIGPIPE, SIG_IGN);       // a reader of the lines that goes away
  std::optional<Interrupt> interrupt;  // before the first step there is nothing to save
  const auto should_stop = [&](std::int64_t step) {
    if (!interrupt) interrupt.emplace();
    interrupt->set_step(step);
    return interrupt->signal() != 0;
  };
  if (!run_training(job, make_terminal(), should_stop))
    throw CLI::RuntimeError(128 + interrupt->signal());
}

void run_train(const TrainOptions& options) {
  if (options.describe) return print(train::describe_job());
  ensure(!options.job.empty(), ErrorKind::invalid, "train: expected a job file, such as job.toml");
  const train::Job job = train::open_job(options.job, options.overrides);
  in_context(options.job.string(), [&] {
    if (options.dry_run) return print(training_plan(job, make_terminal()));
    train_interruptibly(job);
  });
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
