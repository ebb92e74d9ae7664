#include "serve/golden.h"

#include "base/error.h"
#include "serve/complete.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace parhelion::serve {
namespace {

constexpr std::int64_t kShortPrompt = 5;
constexpr std::int64_t kDrawnTokens = 2;
constexpr std::uint64_t kDrawSeed = 20;

/// The same ids for every model with as many.
std::vector<std::int32_t> prompt_ids(std::int64_t count, std::int64_t vocabulary) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<std::int32_t>((i * i * 7 + i * 31 + 40) % vocabulary));
  return ids;
}

/// Tokens of the smallest instance that reads a prompt rather than a token a row.
std::int64_t smallest_prompt(const contract::Contract& contract) {
  std::int64_t smallest = 0;
  for (const ir::Capacities& instance : contract.catalogue) {
    const std::int64_t tokens = instance[ir::Symbol::tokens];
    const bool reads = tokens > instance[ir::Symbol::rows];
    if (reads && (smallest == 0 || tokens < smallest)) smallest = tokens;
  }
  return smallest;
}

std::int64_t longest_prompt(const contract::Contract& contract, std::int64_t drawn) {
  const std::int64_t room = contract.cache.context_tokens - drawn;
  const std::int64_t limit = contract.limits.prompt_tokens;
  return limit == 0 ? room : std::min(room, limit);
}

bool fits(const contract::GoldenProbe& probe, const contract::Contract& contract) {
  const std::int64_t drawn = std::ssize(probe.tokens);
  const std::int64_t limit = contract.limits.output_tokens;
  return std::ssize(probe.prompt) <= longest_prompt(contract, drawn) &&
         (limit == 0 || drawn <= limit);
}

Request request_of(const contract::GoldenProbe& probe, std::int64_t tokens) {
  Request request{.prompt = probe.prompt, .max_tokens = tokens};
  request.temperature = probe.temperature;
  request.repetition_penalty = 1;
  request.presence_penalty = 0;
  request.frequency_penalty = 0;
  request.seed = probe.seed;
  request.ignore_stop_ids = true;
  return request;
}

const std::function<void(std::int32_t)> kNobodyListens = [](std::int32_t) {};

/// What a probe says now, marks apart.
contract::GoldenProbe said_to(Engine& engine, const contract::GoldenProbe& probe,
                              std::int64_t tokens, bool scores) {
  contract::GoldenProbe said = probe;
  said.tokens.clear();
  if (scores) said.prompt_log_probabilities = score(engine, probe.prompt);
  const Completion completion = complete(engine, request_of(probe, tokens), kNobodyListens);
  for (std::size_t i = 0; i < completion.ids.size(); ++i)
    said.tokens.push_back(
        {.id = completion.ids[i], .log_probability = completion.log_probabilities[i]});
  return said;
}

/// Draws each token again with its logit lowered.
void mark_firm(Engine& engine, double tolerance, contract::GoldenProbe& probe) {
  if (engine.contract().edited.ops.empty()) return;  // logits cannot be lowered: none is firm
  contract::GoldenProbe before = probe;
  for (contract::GoldenToken& token : probe.tokens) {
    Request request = request_of(before, 1);
    request.logit_bias = {{token.id, static_cast<float>(-2 * tolerance)}};
    token.is_firm = complete(engine, std::move(request), kNobodyListens).ids.front() == token.id;
    before.prompt.push_back(token.id);
  }
}

bool is_near(float now, float then, double tolerance) {
  return std::abs(static_cast<double>(now) - static_cast<double>(then)) <= tolerance;
}

/// Compares one probe with what it said when the core was prepared.
class GoldenComparison {
 public:
  GoldenComparison(const contract::Golden& golden, const contract::GoldenProbe& then)
      : golden_(golden), then_(then) {}

  void compare(const contract::GoldenProbe& now) const {
    for (std::size_t i = 0; i < then_.prompt_log_probabilities.size(); ++i)
      compare_values("of its prompt", i + 1, now.prompt_log_probabilities.at(i),
                     then_.prompt_log_probabilities[i]);
    for (std::size_t i = 0; i < then_.tokens.size(); ++i) {
      const contract::GoldenToken& expected = then_.tokens[i];
      const contract::GoldenToken& found = now.tokens.at(i);
      ensure(found.id == expected.id || !expected.is_firm, ErrorKind::corrupt,
             "GOLDEN_MISMATCH: probe '{}' drew id {} as its token {}, expected {} as on {}",
             then_.name, found.id, i, expected.id, golden_.host);
      if (found.id != expected.id) return;
      compare_values("drawn", i, found.log_probability, expected.log_probability);
    }
  }

 private:
  void compare_values(std::string_view which, std::size_t place, float now, float then) const {
    ensure(is_near(now, then, golden_.tolerance), ErrorKind::corrupt,
           "GOLDEN_MISMATCH: probe '{}', token {} {}: has log-probability {}, expected {} within "
           "{} as on {}",
           then_.name, place, which, now, then, golden_.tolerance, golden_.host);
  }

  const contract::Golden& golden_;
  const contract::GoldenProbe& then_;
};

std::vector<contract::GoldenProbe> new_probes(const contract::Contract& contract) {
  const auto prompt = [&](std::int64_t count) {
    return prompt_ids(
        std::max<std::int64_t>(1, std::min(count, longest_prompt(contract, kDrawnTokens))),
        contract.vocabulary);
  };
  const std::int64_t length = smallest_prompt(contract) + kShortPrompt;
  std::vector<contract::GoldenProbe> probes(3);
  probes[0] = {.name = "short", .prompt = prompt(kShortPrompt)};
  probes[1] = {.name = "long", .prompt = prompt(length)};
  probes[2] = {.name = "drawn", .prompt = prompt(kShortPrompt), .temperature = 1};
  probes[2].seed = kDrawSeed;
  return probes;
}

}  // namespace

contract::Golden record_golden(Engine& engine, double tolerance) {
  contract::Golden golden{.tolerance = tolerance};
  for (const contract::GoldenProbe& each : new_probes(engine.contract())) {
    const bool scores = each.name == "long" && each.prompt.size() > 1;
    contract::GoldenProbe probe = said_to(engine, each, kDrawnTokens, scores);
    mark_firm(engine, tolerance, probe);
    golden.probes.push_back(std::move(probe));
  }
  engine.forget();
  return golden;
}

std::int64_t check_golden(Engine& engine) {
  const contract::Golden& golden = engine.contract().golden;
  std::int64_t count = 0;
  for (const contract::GoldenProbe& probe : golden.probes) {
    if (!fits(probe, engine.contract())) continue;
    const contract::GoldenProbe now =
        said_to(engine, probe, std::ssize(probe.tokens), !probe.prompt_log_probabilities.empty());
    GoldenComparison(golden, probe).compare(now);
    ++count;
  }
  engine.forget();
  return count;
}

}  // namespace parhelion::serve
