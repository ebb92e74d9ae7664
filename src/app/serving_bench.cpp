#include "app/serving_bench.h"

#include "base/error.h"
#include "base/random.h"
#include "base/with_advice.h"
#include "ir/passes/lower.h"
#include "model/programs.h"
#include "prepare/make_contract.h"

#include <algorithm>
#include <map>
#include <set>

namespace parhelion::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUpSteps = 3;
constexpr int kProfiledSteps = 5;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Rows of one step: each has `fresh` new tokens, the last of which are `context` tokens with it.
struct Shape {
  std::int64_t rows, fresh, context, pages_per_row;

  std::int64_t tokens() const { return rows * fresh; }
};

ir::Capacities capacities_of(const Shape& shape, std::int64_t pages) {
  ir::Capacities result;
  result[ir::Symbol::tokens] = shape.tokens();
  result[ir::Symbol::rows] = shape.rows;
  result[ir::Symbol::logit_rows] = shape.rows;
  result[ir::Symbol::pages_per_row] = shape.pages_per_row;
  result[ir::Symbol::pages] = pages;
  return result;
}

/// Every shape of a bench, decode first.
std::vector<Shape> shapes_of(const ServingBench& bench) {
  std::vector<Shape> result;
  for (const std::int64_t rows : bench.batches) {
    for (const std::int64_t context : bench.contexts) result.push_back({rows, 1, context, 0});
  }
  for (const std::int64_t tokens : bench.prompts) result.push_back({1, tokens, tokens, 0});
  for (Shape& shape : result)
    shape.pages_per_row = (shape.context + prepare::kPageTokens - 1) / prepare::kPageTokens;
  return result;
}

void write_tokens(exec::Plan& plan, const Shape& shape, std::int64_t vocabulary) {
  const auto ids = exec::host_span<std::int32_t>(plan, "token_ids");
  const auto positions = exec::host_span<std::int32_t>(plan, "positions");
  const auto locations = exec::host_span<std::int64_t>(plan, "write_location");
  const auto limit = static_cast<std::uint64_t>(vocabulary);
  std::ranges::fill(exec::host_span<std::int32_t>(plan, "token_source"), -1);
  std::size_t at = 0;
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    for (std::int64_t i = 0; i < shape.fresh; ++i, ++at) {
      const std::int64_t position = shape.context - shape.fresh + i;
      const std::int64_t page = 1 + row * shape.pages_per_row + position / prepare::kPageTokens;
      ids[at] = static_cast<std::int32_t>(philox(7, at, 0)[0] % limit);
      positions[at] = static_cast<std::int32_t>(position);
      locations[at] = page * prepare::kPageTokens + position % prepare::kPageTokens;
    }
  }
}

void write_rows(exec::Plan& plan, const Shape& shape) {
  const auto indptr = exec::host_span<std::int32_t>(plan, "query_indptr");
  const auto lengths = exec::host_span<std::int32_t>(plan, "kv_length");
  const auto table = exec::host_span<std::int32_t>(plan, "page_table");
  const auto index = exec::host_span<std::int32_t>(plan, "logit_index");
  indptr[0] = 0;
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    const auto r = static_cast<std::size_t>(row);
    lengths[r] = static_cast<std::int32_t>(shape.context);
    indptr[r + 1] = static_cast<std::int32_t>((row + 1) * shape.fresh);
    index[r] = indptr[r + 1] - 1;
    for (std::int64_t page = 0; page < shape.pages_per_row; ++page) {
      const std::int64_t at = row * shape.pages_per_row + page;
      table[static_cast<std::size_t>(at)] = static_cast<std::int32_t>(1 + at);
    }
  }
  std::ranges::fill(exec::host_span<std::int32_t>(plan, "target_ids"), -1);
  std::ranges::fill(exec::host_span<std::int32_t>(plan, "draw_slot"), -1);
  std::ranges::fill(exec::host_span<float>(plan, "top_p"), 1.0f);
}

/// Bytes of the parameters that a step reads whole: not those in which it only looks rows up.
std::int64_t read_weight_bytes(const ir::Program& instance) {
  std::set<std::uint32_t> read;
  for (const ir::OpNode& node : instance.ops) {
    if (std::holds_alternative<ir::Embedding>(node.op)) continue;
    for (const ir::Operand& operand : node.inputs) {
      const ir::BufferId buffer = instance.at(operand.value).buffer;
      if (buffer && instance.at(buffer).role == ir::Role::parameter) read.insert(buffer.index);
    }
  }
  std::int64_t bytes = 0;
  for (const std::uint32_t index : read)
    bytes += ir::byte_count(instance.at(ir::BufferId{index}).type);
  return bytes;
}

/// Bytes of keys and values of one token.
std::int64_t cached_token_bytes(const ir::Program& instance) {
  std::int64_t bytes = 0;
  for (const ir::Buffer& buffer : instance.buffers) {
    if (buffer.role != ir::Role::state) continue;
    bytes += ir::byte_count(buffer.type) / ir::number(buffer.type.shape[0]) / prepare::kPageTokens;
  }
  return bytes;
}

/// Longest first.
NamedSeconds in_order(const std::map<std::string_view, double>& seconds) {
  NamedSeconds result(seconds.begin(), seconds.end());
  std::ranges::sort(result, std::greater(), [](const auto& each) { return each.second; });
  return result;
}

/// The least time of each op in some runs.
std::vector<std::chrono::nanoseconds> least_times(exec::Plan& plan) {
  std::vector<std::chrono::nanoseconds> least = plan.profile();
  for (int run = 1; run < kProfiledSteps; ++run) {
    const std::vector<std::chrono::nanoseconds> times = plan.profile();
    for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], times[i]);
  }
  return least;
}

void profile_kernels(exec::Plan& plan, ServingTime& time) {
  std::map<std::string_view, double> by_kernel, by_family;
  const std::vector<std::chrono::nanoseconds> times = least_times(plan);
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (plan.steps()[i].op_count == 0) continue;
    const double seconds = std::chrono::duration<double>(times[i]).count();
    by_kernel[plan.steps()[i].kernel] += seconds;
    by_family[ir::traits(plan.instance().ops[i].op).name] += seconds;
  }
  time.kernel_seconds = in_order(by_kernel);
  time.family_seconds = in_order(by_family);
}

ServingTime time_shape(exec::Plan& plan, const Shape& shape, std::int64_t vocabulary, int steps) {
  std::vector<double> times;
  for (int i = 0; i < kWarmUpSteps + steps; ++i) {
    const auto begin = Clock::now();
    write_tokens(plan, shape, vocabulary);
    write_rows(plan, shape);
    plan.run();
    plan.host("sampled_ids");
    if (i >= kWarmUpSteps) times.push_back(seconds_since(begin));
  }
  const auto begin = Clock::now();
  for (int i = 0; i < steps; ++i) plan.start();
  plan.wait();
  const double device_seconds = seconds_since(begin) / steps;
  const double step_seconds = median(times);
  const ir::Program& instance = plan.instance();
  return {.phase = shape.fresh == 1 ? "decode" : "prefill",
          .rows = shape.rows,
          .context_tokens = shape.context,
          .step_seconds = step_seconds,
          .device_seconds = device_seconds,
          .tokens_per_second = static_cast<double>(shape.tokens()) / step_seconds,
          .floor_bytes =
              static_cast<double>(read_weight_bytes(instance) +
                                  shape.rows * shape.context * cached_token_bytes(instance))};
}

}  // namespace

std::vector<ServingTime> time_serving(const model::Model& model, const ServingBench& bench,
                                      exec::Executor& executor,
                                      const std::function<void()>& upload) {
  const std::vector<Shape> shapes = shapes_of(bench);
  std::int64_t pages = 1;
  for (const Shape& shape : shapes) {
    ensure(shape.context <= model.max_positions, ErrorKind::invalid,
           "bench: a context of {} tokens, expected at most the model's {} positions",
           shape.context, model.max_positions);
    pages = std::max(pages, 1 + shape.rows * shape.pages_per_row);
  }
  const ir::Program extend =
      model::build_extend(model, bench.kind, {.page_tokens = prepare::kPageTokens});
  std::vector<std::unique_ptr<exec::Plan>> plans;
  plans.reserve(shapes.size());
  for (const Shape& shape : shapes) {
    plans.push_back(with_advice(
        "fewer rows (--batch), shorter contexts (--context) or prompts (--prompt) ask for less",
        [&] {
          return executor.plan(ir::lower(extend, capacities_of(shape, pages)),
                               exec::Weights::frozen);
        }));
  }
  upload();
  std::vector<ServingTime> result;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    result.push_back(time_shape(*plans[i], shapes[i], model.vocabulary, bench.steps));
    if (bench.profile) profile_kernels(*plans[i], result.back());
  }
  return result;
}

}  // namespace parhelion::app
