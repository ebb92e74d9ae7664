// A device kept busy by the serving engine, without HTTP; random weights, prompts and lengths.
//   bench_serve_saturation CONFIG.json DEVICE ROWS LEAST MOST REQUESTS STEP_TOKENS
// DEVICE is a number of threads, cuda, cuda:invariant or cuda:fast. REQUESTS have prompts of LEAST
// to MOST tokens and as many new ones, drawn greedily; ROWS of them run at a time. Prints one JSON
// object: tokens/s, the host's gap between steps, and the floor: the time in which a copy at the
// measured rate reads the weights once a step and each key and value as often as it is attended to
// by decoded tokens, and the measured matmul rate multiplies prompts.

#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "exec/roofline.h"
#include "model/recipes/registry.h"
#include "prepare/make_contract.h"
#include "serve/engine.h"
#include "train/loop/initial_weights.h"

#include "executor_choice.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

namespace parhelion {
namespace {

using Clock = std::chrono::steady_clock;

struct Saturation {
  std::int64_t rows, least, most, requests, step_tokens;
};

/// What becomes of the tokens of one row.
class Row final : public serve::Sink {
 public:
  void take(const serve::TokenEvent&) override { ++tokens; }
  void take(const serve::FinishEvent&) override { is_idle = true; }

  bool is_idle = true;
  std::int64_t tokens = 0;
};

/// A length between the bounds, a function of its number.
std::int64_t length_of(const Saturation& load, std::int64_t number) {
  const auto span = static_cast<std::uint64_t>(load.most - load.least + 1);
  const auto draw = philox(11, static_cast<std::uint64_t>(number), 0)[0];
  return load.least + static_cast<std::int64_t>(draw % span);
}

std::int64_t prompt_length(const Saturation& load, std::int64_t request) {
  return length_of(load, 2 * request);
}
std::int64_t new_length(const Saturation& load, std::int64_t request) {
  return length_of(load, 2 * request + 1);
}

serve::Request request_of(const Saturation& load, std::int64_t vocabulary, std::int64_t number) {
  serve::Request request;
  request.max_tokens = new_length(load, number);
  request.temperature = 0.0;
  request.ignore_stop_ids = true;
  const std::int64_t length = prompt_length(load, number);
  for (std::int64_t i = 0; i < length; ++i) {
    const auto draw = philox(5, static_cast<std::uint64_t>(number * load.most + i), 0)[0];
    request.prompt.push_back(
        static_cast<std::int32_t>(draw % static_cast<std::uint64_t>(vocabulary)));
  }
  return request;
}

std::int64_t run_load(serve::Engine& engine, const Saturation& load) {
  std::vector<Row> rows(static_cast<std::size_t>(load.rows));
  std::int64_t sent = 0;
  do {
    for (Row& row : rows) {
      if (!row.is_idle || sent == load.requests) continue;
      row.is_idle = false;
      engine.add(
          engine.sequences_of(request_of(load, engine.contract().vocabulary, sent++), {}, row));
    }
  } while (engine.step());
  std::int64_t tokens = 0;
  for (const Row& row : rows) tokens += row.tokens;
  return tokens;
}

/// Keys and values that decoded tokens of all requests attend to.
double attended_tokens(const Saturation& load) {
  double sum = 0;
  for (std::int64_t request = 0; request < load.requests; ++request) {
    const auto prompt = static_cast<double>(prompt_length(load, request));
    const auto fresh = static_cast<double>(new_length(load, request) - 1);
    sum += fresh * prompt + fresh * (fresh + 1) / 2;
  }
  return sum;
}

double prompt_tokens(const Saturation& load) {
  double sum = 0;
  for (std::int64_t request = 0; request < load.requests; ++request)
    sum += static_cast<double>(prompt_length(load, request));
  return sum;
}

double parameter_bytes(const exec::Executor& executor) {
  double bytes = 0;
  for (const ir::Buffer& buffer : executor.parameters())
    bytes += static_cast<double>(ir::byte_count(buffer.type));
  return bytes;
}

double token_bytes(const model::Model& model) {
  return 2.0 * 2.0 * static_cast<double>(model.layers * model.kv_heads * model.head_dim);
}

void run(const Json& config, std::string_view device, const Saturation& load) {
  const model::Model model = model::find_recipe(config).from_config(config);
  const auto executor = bench::make_executor(device);
  prepare::ServingShape shape;
  shape.context_tokens = 2 * load.most;
  shape.catalogue = prepare::serving_catalogue(load.rows, load.step_tokens);
  shape.slots = load.rows;
  serve::EngineSettings settings;
  settings.pages = load.rows * (shape.context_tokens / prepare::kPageTokens + 1) + 1;
  settings.overlaps = device.starts_with("cuda");
  settings.shares_prefixes = false;
  settings.queue_sequences = load.rows + 1;
  serve::Engine engine(prepare::make_contract(model, shape), *executor, settings);
  train::initialise_weights(executor->parameters(), 0.02, 1, *executor);
  const exec::Roofline roofline = exec::measure_roofline(*executor);
  Saturation warm = load;
  warm.requests = load.rows / 4;
  run_load(engine, warm);
  const serve::ServerCounts before = engine.counts();
  const auto begin = Clock::now();
  const std::int64_t tokens = run_load(engine, load);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const serve::ServerCounts counts = engine.counts();
  const auto steps = static_cast<double>(counts.steps - before.steps);
  const double bytes =
      steps * parameter_bytes(*executor) + attended_tokens(load) * token_bytes(model);
  const double flops =
      prompt_tokens(load) * parameter_bytes(*executor);  // 2 a parameter of 2 bytes
  const double floor = bytes / roofline.bytes_per_second + flops / roofline.bf16_flops_per_second;
  const Json result = Json::Object{
      {"device", executor->describe()},
      {"rows", load.rows},
      {"seconds", seconds},
      {"output_tokens_per_second", static_cast<double>(tokens) / seconds},
      {"steps", steps},
      {"rows_a_step", static_cast<double>(counts.step_rows - before.step_rows) / steps},
      {"host_gap_microseconds", 1e6 * (counts.gap_seconds - before.gap_seconds) / steps},
      {"host_share", (counts.host_seconds - before.host_seconds) / seconds},
      {"copy_bytes_per_second", roofline.bytes_per_second},
      {"matmul_flops_per_second", roofline.bf16_flops_per_second},
      {"floor_seconds", floor},
      {"share_of_floor", floor / seconds}};
  std::printf("%s\n", write_json(result).c_str());
}

}  // namespace
}  // namespace parhelion

int main(int argc, char** argv) {
  using namespace parhelion;
  if (argc != 8) {
    std::fprintf(stderr,
                 "usage: bench_serve_saturation CONFIG.json DEVICE ROWS LEAST MOST REQUESTS "
                 "STEP_TOKENS\n");
    return 2;
  }
  run(parse_json(read_file(argv[1]), argv[1]), argv[2],
      {.rows = std::atoll(argv[3]),
       .least = std::atoll(argv[4]),
       .most = std::atoll(argv[5]),
       .requests = std::atoll(argv[6]),
       .step_tokens = std::atoll(argv[7])});
  return 0;
}
