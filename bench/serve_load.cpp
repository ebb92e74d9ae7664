// Many clients at a time through the serving engine, without HTTP.
//   bench_serve_load MODEL DTYPE THREADS CLIENTS PROMPT_TOKENS NEW_TOKENS REQUESTS
// Each client sends its next request when the last has ended; prompts are random. Prints one JSON
// object: output tokens/s, time to the first token and between tokens, medians and 99th
// percentiles.

#include "app/weights.h"
#include "base/json.h"
#include "base/random.h"
#include "exec/cpu/cpu_executor.h"
#include "prepare/make_contract.h"
#include "serve/engine.h"

#include "family_times.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace parhelion {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Json percentiles(std::vector<double> values) {
  std::ranges::sort(values);
  return Json::Object{{"p50", values[values.size() / 2]},
                      {"p99", values[values.size() * 99 / 100]}};
}

struct Load {
  std::int64_t clients, prompt, fresh, requests;
};

struct Times {
  std::vector<double> first, between;
  std::int64_t tokens = 0;
};

class Client final : public serve::Sink {
 public:
  explicit Client(Times& times) : times_(times) {}

  void begin() { begin_ = last_ = Clock::now(); }
  void take(const serve::TokenEvent&) override {
    (last_ == begin_ ? times_.first : times_.between).push_back(seconds_since(last_));
    last_ = Clock::now();
    ++times_.tokens;
  }
  void take(const serve::FinishEvent&) override { is_idle = true; }

  bool is_idle = true;

 private:
  Times& times_;
  Clock::time_point begin_, last_;
};

serve::Request next_request(const Load& load, std::int64_t vocabulary, std::int64_t number) {
  serve::Request request{.max_tokens = load.fresh, .temperature = 0.0, .ignore_stop_ids = true};
  for (std::int64_t i = 0; i < load.prompt; ++i) {
    const auto draw = philox(5, static_cast<std::uint64_t>(number * load.prompt + i), 0)[0];
    request.prompt.push_back(
        static_cast<std::int32_t>(draw % static_cast<std::uint64_t>(vocabulary)));
  }
  return request;
}

Times run_load(serve::Engine& engine, const Load& load) {
  Times times;
  std::vector<std::unique_ptr<Client>> clients;
  for (std::int64_t i = 0; i < load.clients; ++i)
    clients.push_back(std::make_unique<Client>(times));
  std::int64_t sent = 0;
  do {
    for (const auto& client : clients) {
      if (!client->is_idle || sent == load.requests) continue;
      client->is_idle = false;
      client->begin();
      engine.add(engine.sequences_of(next_request(load, engine.contract().vocabulary, sent++), {},
                                     *client));
    }
  } while (engine.step());
  return times;
}

/// Where the time of a step of all clients goes, repeated with its last inputs.
Json decode_times(const serve::Engine& engine, std::int64_t clients) {
  const auto& catalogue = engine.stepper().instances(serve::StepKind::plain).catalogue;
  const auto at = std::ranges::find_if(catalogue, [&](const ir::Capacities& instance) {
    return instance[ir::Symbol::tokens] == clients && instance[ir::Symbol::rows] == clients;
  });
  return seconds_by_family(
      *engine.stepper().plans()[static_cast<std::size_t>(at - catalogue.begin())]);
}

void run(const char* path, ir::Kind kind, int threads, const Load& load) {
  const model::OpenedModel opened = model::open_model(path);
  const auto executor = exec::make_cpu_executor({.threads = threads});
  const std::int64_t context = load.prompt + load.fresh;
  serve::Engine engine(
      prepare::make_contract(opened.model,
                             {.kind = kind,
                              .context_tokens = context,
                              .catalogue = prepare::serving_catalogue(load.clients, 512),
                              .page_tokens = 16}),
      *executor, {.pages = load.clients * (context / 16 + 1) + 1});
  app::upload_weights(opened, kind, *executor);
  const auto begin = Clock::now();
  const Times times = run_load(engine, load);
  const double seconds = seconds_since(begin);
  const serve::ServerCounts counts = engine.counts();
  const Json result =
      Json::Object{{"device", executor->describe()},
                   {"clients", load.clients},
                   {"output_tokens_per_second", static_cast<double>(times.tokens) / seconds},
                   {"first_token_seconds", percentiles(times.first)},
                   {"between_tokens_seconds", percentiles(times.between)},
                   {"decode_seconds_by_family", decode_times(engine, load.clients)},
                   {"steps", counts.steps},
                   {"host_share", counts.host_seconds / counts.step_seconds}};
  std::printf("%s\n", write_json(result).c_str());
}

}  // namespace
}  // namespace parhelion

int main(int argc, char** argv) {
  using namespace parhelion;
  if (argc != 8) {
    std::fprintf(stderr,
                 "usage: bench_serve_load MODEL f32|bf16 THREADS CLIENTS PROMPT_TOKENS NEW_TOKENS "
                 "REQUESTS\n");
    return 2;
  }
  run(argv[1], std::string_view(argv[2]) == "f32" ? ir::Kind::f32 : ir::Kind::bf16,
      std::atoi(argv[3]),
      {.clients = std::atoll(argv[4]),
       .prompt = std::atoll(argv[5]),
       .fresh = std::atoll(argv[6]),
       .requests = std::atoll(argv[7])});
  return 0;
}
