// What saving a checkpoint costs the steps that go on meanwhile, and what opening one costs.
// Usage: bench_checkpoint DIRECTORY MEGABYTES [STEP_SECONDS] [THREADS]. A step is arithmetic in
// registers on every thread; parameters and optimizer state are MEGABYTES in all.
#include "train/checkpoint/checkpoint_writer.h"
#include "train/checkpoint/open_checkpoint.h"

#include <fmt/format.h>
#include <omp.h>

#include "measure.h"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace parhelion;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

double seconds_since(Clock::time_point begin) { return Seconds(Clock::now() - begin).count(); }

/// `rounds` rounds of independent multiply-adds on each thread.
float arithmetic(std::int64_t rounds, int threads) {
  float total = 0;
#pragma omp parallel num_threads(threads) reduction(+ : total)
  {
    float sums[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (std::int64_t i = 0; i < rounds; ++i)
      for (float& sum : sums) sum = sum * 0.999f + 0.001f;
    for (const float sum : sums) total += sum;
  }
  return total;
}

/// A step of a known length: what training computes between two updates.
class Step {
 public:
  Step(double seconds, int threads) : threads_(threads) {
    const auto begin = Clock::now();
    kept_ += arithmetic(kCalibrationRounds, threads);
    rounds_ = static_cast<std::int64_t>(kCalibrationRounds * seconds / seconds_since(begin));
  }
  double run() {
    const auto begin = Clock::now();
    kept_ += arithmetic(rounds_, threads_);
    return seconds_since(begin);
  }
  float kept() const { return kept_; }

 private:
  static constexpr std::int64_t kCalibrationRounds = 20'000'000;
  int threads_;
  std::int64_t rounds_ = 0;
  float kept_ = 0;  // printed, so that the work is done
};

std::vector<state::TensorView> split_tensors(std::span<const std::byte> bytes, std::int64_t count) {
  std::vector<state::TensorView> tensors;
  const std::size_t each = bytes.size() / static_cast<std::size_t>(count) / 4 * 4;
  for (std::int64_t i = 0; i < count; ++i)
    tensors.push_back({.name = fmt::format("tensor.{}", i),
                       .kind = ir::Kind::f32,
                       .shape = {static_cast<std::int64_t>(each / 4)},
                       .bytes = bytes.subspan(static_cast<std::size_t>(i) * each, each),
                       .storage = nullptr});
  return tensors;
}

void measure_opening(const std::filesystem::path& directory, train::Verify verify,
                     std::string_view name) {
  const auto begin = Clock::now();
  train::open_train_checkpoint(directory, verify);
  fmt::print("open, {:8} {:8.4f} s\n", name, seconds_since(begin));
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count < 3) {
    fmt::print(stderr, "usage: bench_checkpoint DIRECTORY MEGABYTES [STEP_SECONDS] [THREADS]\n");
    return 2;
  }
  const std::filesystem::path directory = arguments[1];
  const auto bytes = static_cast<std::size_t>(std::stoll(arguments[2])) << 20;
  const int threads = argument_count > 4 ? std::atoi(arguments[4]) : omp_get_num_procs();
  Step step(argument_count > 3 ? std::atof(arguments[3]) : 4.0, threads);
  bench::Bytes memory(bytes);
  std::ranges::fill(memory.span(), std::byte{7});
  const auto third = bytes / 3;

  double alone = 1e30;
  for (int i = 0; i < 3; ++i) alone = std::min(alone, step.run());
  fmt::print("{}, {} threads; {} MB saved; a step alone {:.3f} s\n", bench::processor_name(),
             threads, bytes >> 20, alone);
  train::CheckpointWriter writer({.directory = directory, .keep = 1});
  writer.begin(train::snapshot_of({.parameters = split_tensors(memory.span().first(third), 64),
                                   .optimizer = split_tensors(memory.span().subspan(third), 128)}));
  std::vector<double> steps = {step.run()};
  writer.wait_snapshot();
  std::vector<train::SaveReport> reports;
  while ((reports = writer.poll()).empty()) steps.push_back(step.run());
  for (const std::string& warning : reports[0].warnings) fmt::print(stderr, "{}\n", warning);
  if (!reports[0].written) return 1;

  double extra = 0;
  for (const double seconds : steps) extra += seconds - alone;
  fmt::print("snapshot {:.3f} s, write {:.3f} s, stall {:.6f} s\n",
             Seconds(reports[0].snapshot).count(), Seconds(reports[0].write).count(),
             Seconds(reports[0].stall).count());
  fmt::print("first step {:+.1f} %; {} steps until it is written take {:.3f} s longer in all\n",
             100 * (steps[0] / alone - 1), steps.size(), extra);
  measure_opening(reports[0].written->directory, train::Verify::sizes, "sizes");
  measure_opening(reports[0].written->directory, train::Verify::contents, "contents");
  std::filesystem::remove_all(reports[0].written->directory);
  fmt::print("arithmetic ended at {:g}\n", step.kept());
}
