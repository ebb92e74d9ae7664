#include "app/cli/command.h"

#include "base/error.h"
#include "base/file.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>

namespace parhelion::app {
namespace {

std::string read_stream(std::istream& stream) {
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace

void add_run_options(CLI::App& command, RunOptions& options,
                     const std::vector<std::string>& numerics) {
  options.executor.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  command.add_option("MODEL", options.model, kModelHelp)->required();
  command.add_option("--adapter", options.adapter, kAdapterHelp);
  command
      .add_option(
          "--dtype", options.dtype,
          "storage of weights and activations; if absent, f32 for a checkpoint in f32, else bf16")
      ->check(CLI::IsMember({"f32", "bf16"}));
  command.add_option("--threads", options.executor.threads, "threads that compute")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--device", options.executor.device, "what computes")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  command
      .add_option("--numerics", options.executor.numerics,
                  "bits of a GPU: exact are those of training, invariant those of any batch, fast "
                  "are free; on a processor they are always exact")
      ->check(CLI::IsMember(numerics))
      ->capture_default_str();
}

ir::Kind kind_of(const RunOptions& options, const model::OpenedModel& opened) {
  if (!options.dtype.empty()) return options.dtype == "f32" ? ir::Kind::f32 : ir::Kind::bf16;
  const auto is_f32 = [](const state::TensorView& tensor) { return tensor.kind == ir::Kind::f32; };
  return std::ranges::all_of(opened.checkpoint.tensors(), is_f32) ? ir::Kind::f32 : ir::Kind::bf16;
}

std::string read_text(const std::filesystem::path& path) {
  if (path.empty() || path == "-") return read_stream(std::cin);
  if (!std::filesystem::is_fifo(path) && !std::filesystem::is_character_file(path))
    return read_file(path);
  std::ifstream pipe(path);
  ensure(pipe.is_open(), ErrorKind::invalid, "{}: cannot open", path.string());
  return read_stream(pipe);
}

std::vector<std::int32_t> parse_ids(std::string_view text, std::string_view where) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::vector<std::int32_t> ids;
  for (std::size_t at = text.find_first_not_of(kSpace); at != std::string_view::npos;
       at = text.find_first_not_of(kSpace, at)) {
    const std::size_t end = std::min(text.find_first_of(kSpace, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    std::int32_t id = 0;
    const auto [rest, code] = std::from_chars(word.data(), word.data() + word.size(), id);
    ensure(code == std::errc() && rest == word.data() + word.size(), ErrorKind::invalid,
           "{}: '{}' is no token id", where, word.substr(0, 40));
    ids.push_back(id);
    at = end;
  }
  return ids;
}

void print(std::string_view text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  ensure(written, ErrorKind::exhausted, "standard output: cannot write");
}

}  // namespace parhelion::app
