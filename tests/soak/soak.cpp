// A mixed load on the tiny model for a long time.
//   soak SECONDS [REQUESTS]
// Three engines take turns: one that keeps the worst case, one whose sequences give way, and one
// whose steps overlap besides. Clients ask for everything, some give up at any time, and some
// prompts make numbers that are not finite. Every step is audited. One request comes again and
// again, and its answer must stay what it was alone. Ends after SECONDS, or when each engine has
// had REQUESTS requests. Prints a line every ten seconds; exits with 1 if a step asked for memory,
// a request had no end, or the answer changed.

#include "app/mixed_load.h"
#include "app/poison.h"
#include "app/weights.h"
#include "base/error.h"
#include "exec/cpu/cpu_executor.h"
#include "model/open.h"
#include "prepare/make_contract.h"
#include "serve/complete.h"
#include "support/capacities.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace parhelion::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int32_t kPoison = 9;

/// Hears the request that comes again and again.
class GoldenSink final : public serve::Sink {
 public:
  explicit GoldenSink(std::vector<std::int32_t> expected) : expected_(std::move(expected)) {}

  void take(const serve::TokenEvent& event) override {
    const bool is_right = heard_ < expected_.size() && expected_[heard_] == event.token.id;
    differences += is_right ? 0 : 1;
    ++heard_;
  }
  void take(const serve::FinishEvent&) override {
    differences += heard_ == expected_.size() ? 0 : 1;
    heard_ = 0;
    is_idle = true;
    ++answers;
  }

  bool is_idle = true;
  std::int64_t answers = 0;
  std::int64_t differences = 0;

 private:
  std::vector<std::int32_t> expected_;
  std::size_t heard_ = 0;
};

serve::Request golden_request() {
  return {.prompt = {30, 41, 52, 63, 74, 85, 96, 107, 118, 129},
          .max_tokens = 24,
          .temperature = 1.0,
          .seed = 77,
          .ignore_stop_ids = true};
}

/// An engine with its clients.
class Soaked {
 public:
  Soaked(const model::OpenedModel& opened, const serve::EngineSettings& settings)
      : executor_(exec::make_cpu_executor({.threads = 2})),
        engine_(contract_of(opened), *executor_, settings),
        load_(engine_, static_cast<std::uint64_t>(settings.pages), 12) {
    upload_weights(opened, ir::Kind::f32, *executor_);
    golden_ = std::make_unique<GoldenSink>(
        serve::complete(engine_, golden_request(), [](std::int32_t) {}).ids);
    poison_embedding(opened.model, kPoison, *executor_);
    load_.poison = kPoison;
  }

  void steps(int count) {
    for (int i = 0; i < count; ++i) {
      if (golden_->is_idle) {
        golden_->is_idle = false;
        engine_.add(engine_.sequences_of(golden_request(), {~std::uint64_t{0}}, *golden_));
      }
      load_.step();
    }
  }

  /// Ends what runs. False: something was wrong.
  bool finish() {
    load_.finish();
    engine_.audit();
    const bool is_good = load_.allocations == 0 && load_.unfinished() == 0 && golden_->is_idle &&
                         golden_->differences == 0;
    engine_.end_all(serve::FinishReason::cancelled);
    return is_good;
  }

  void print(const char* name) const {
    const serve::ServerCounts counts = engine_.counts();
    std::printf(
        "  %-10s %ld steps, %ld requests, %ld cancelled, %ld not finite, %ld tokens, %ld cached, "
        "%ld evicted, %ld preempted, %ld discarded, golden %ld (%ld differ), %ld allocations\n",
        name, counts.steps, load_.requests, load_.finishes(serve::FinishReason::cancelled),
        counts.numeric_failures, counts.drawn_tokens, counts.cached_tokens, counts.evicted_pages,
        counts.preemptions, counts.discarded_tokens, golden_->answers, golden_->differences,
        load_.allocations);
  }

  std::int64_t requests() const { return load_.requests; }

 private:
  static contract::Contract contract_of(const model::OpenedModel& opened) {
    contract::Contract contract = prepare::make_contract(
        opened.model,
        {.kind = ir::Kind::f32,
         .context_tokens = 64,
         .catalogue = {test::step_capacities(1, 1, 1), test::step_capacities(6, 6, 6),
                       test::step_capacities(8, 6, 8), test::step_capacities(24, 6, 6)},
         .page_tokens = 4,
         .slots = 6,
         .edited_catalogue = {test::step_capacities(6, 6, 6), test::step_capacities(24, 6, 6)}});
    contract.stop_ids = {7};
    return contract;
  }

  std::unique_ptr<exec::Executor> executor_;
  serve::Engine engine_;
  MixedLoad load_;
  std::unique_ptr<GoldenSink> golden_;
};

/// Memory of this process, in MiB.
std::int64_t resident_mib() {
  std::int64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * ::sysconf(_SC_PAGESIZE) >> 20;
}

struct Named {
  const char* name;
  std::unique_ptr<Soaked> soaked;
};

void print_all(const std::vector<Named>& engines, double seconds) {
  std::printf("%.0f s, %ld MiB resident\n", seconds, resident_mib());
  for (const Named& each : engines) each.soaked->print(each.name);
  std::fflush(stdout);
}

int soak(double seconds, std::int64_t requests) {
  // Untied: the poisoned embedding is no row of the head.
  const auto opened =
      model::open_model(std::filesystem::path(PARHELION_TEST_DATA) / "model/llama_scaled");
  std::vector<Named> engines;
  const auto add = [&](const char* name, const serve::EngineSettings& settings) {
    engines.push_back({name, std::make_unique<Soaked>(opened, settings)});
  };
  add("worst case", {.pages = 40, .audit_every = 1});
  add("grow", {.pages = 25, .reserve = serve::Reserve::grow, .audit_every = 1});
  add("overlap",
      {.pages = 26, .reserve = serve::Reserve::grow, .overlaps = true, .audit_every = 1});
  const auto begin = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  for (double next = 10; passed() < seconds;) {
    for (const Named& each : engines) each.soaked->steps(200);
    if (passed() >= next) print_all(engines, next), next += 10;
    const auto has_all = [&](const Named& each) { return each.soaked->requests() >= requests; };
    if (requests > 0 && std::ranges::all_of(engines, has_all)) break;
  }
  bool is_good = true;
  for (const Named& each : engines) is_good = each.soaked->finish() && is_good;
  print_all(engines, passed());
  std::printf("%s\n", is_good ? "good" : "NOT good");
  return is_good ? 0 : 1;
}

}  // namespace
}  // namespace parhelion::app

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: soak SECONDS [REQUESTS]\n");
    return 2;
  }
  try {
    return parhelion::app::soak(std::atof(argv[1]), argc == 3 ? std::atoll(argv[2]) : 0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "soak: %s\n", error.what());
    return 1;
  }
}
