#include "app/cli/command.h"
#include "base/error.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <new>

namespace {

/// 2 where the user can mend it, 1 for failures.
int exit_code(parhelion::ErrorKind kind) {
  using parhelion::ErrorKind;
  const bool bad_input =
      kind == ErrorKind::invalid || kind == ErrorKind::corrupt || kind == ErrorKind::unsupported;
  return bad_input ? 2 : 1;
}

int run(int argc, char** argv) {
  CLI::App app("Parhelion trains and serves large language models from one static program.",
               "parhelion");
  app.set_version_flag("--version", "parhelion " PARHELION_VERSION);
  app.require_subcommand(1);
  app.option_defaults()->always_capture_default(false);
  parhelion::app::add_generate(app);
  parhelion::app::add_score(app);
  parhelion::app::add_serve(app);
  parhelion::app::add_chat(app);
  parhelion::app::add_tokenize(app);
  parhelion::app::add_explain(app);
  parhelion::app::add_bench(app);
  parhelion::app::add_export(app);
  parhelion::app::add_train(app);
  parhelion::app::add_prepare(app);
  parhelion::app::add_inspect(app);
  parhelion::app::add_keys(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& error) {
    return error.get_exit_code();  // a command's own
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const parhelion::Error& error) {
    std::fprintf(stderr, "parhelion: %s\n", error.what());
    return exit_code(error.kind());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "parhelion: memory ran out\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "parhelion: %s\n", error.what());
  }
  return 1;
}
