// Worked examples of a whole engine: the number of each is in its name.
#include "app/engine_support.h"
#include "serve/step.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace parhelion::app {
namespace {

class WorkedExample : public EngineTest {
 protected:
  static Heard ask(serve::Engine& engine, const serve::Request& request) {
    Listener listener;
    engine.add(engine.sequences_of(request, {1}, listener));
    while (engine.step()) {
    }
    return listener.heard[0];
  }
};

std::vector<std::int32_t> counted_ids(std::size_t count) {
  std::vector<std::int32_t> ids(count);
  std::iota(ids.begin(), ids.end(), 20);
  return ids;
}

TEST_F(WorkedExample, N08ARepeatedPromptIsFoundButForItsLastToken) {
  shape_.context_tokens = 128;
  shape_.page_tokens = 16;
  serve::Engine& engine = make({});
  const serve::Request request{.prompt = counted_ids(100), .max_tokens = 1, .temperature = 0.0};
  const Heard first = ask(engine, request);
  const Heard second = ask(engine, request);
  EXPECT_EQ(first.finish->cached_tokens, 0);
  EXPECT_EQ(second.finish->cached_tokens, 99);
  EXPECT_EQ(second.ids, first.ids);
}

TEST_F(WorkedExample, N32ATokenDrawnPastTheEndIsSeenByNobody) {
  serve::Engine& engine = make({.overlaps = true});
  serve::Request request{.prompt = counted_ids(13), .max_tokens = 10, .temperature = 0.0};
  request.ignore_stop_ids = true;
  request.stop_filter = third_token;
  const Heard heard = ask(engine, request);
  EXPECT_EQ(engine.counts().discarded_tokens, 1);
  EXPECT_EQ(heard.ids.size(), 3u);
  EXPECT_EQ(heard.finish->drawn_tokens, 3);
  serve::Request next{.prompt = request.prompt, .max_tokens = 6, .temperature = 0.0};
  next.prompt.insert(next.prompt.end(), heard.ids.begin(), heard.ids.end());
  next.prompt.push_back(40);
  const Heard after = ask(engine, next);
  EXPECT_EQ(after.finish->cached_tokens, 15);  // the third token's state is not published
  EXPECT_EQ(after, alone({next}).front());
}

/// Bytes of one page of a cache that is [pages, ...].
std::span<const std::byte> page_of(std::span<const std::byte> cache, std::size_t page,
                                   std::size_t pages) {
  return cache.subspan(page * (cache.size() / pages), cache.size() / pages);
}

TEST_F(WorkedExample, N33InactiveRowsLeaveEveryOtherPageAsItIs) {
  constexpr std::size_t kPages = 12;
  shape_.catalogue = {test::step_capacities(8, 8, 8)};
  shape_.edited_catalogue = {};
  shape_.slots = 8;
  executor_ = exec::make_cpu_executor({.threads = 2});
  serve::Stepper stepper(contract(), *executor_, exec::Weights::frozen, kPages);
  upload_weights(opened_, ir::Kind::f32, *executor_);
  const std::vector<std::string> caches = {"cache.layers.0.key", "cache.layers.1.value"};
  for (const std::string& cache : caches) {
    executor_->upload(cache, [](std::span<std::byte> bytes) {
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i % 63);
    });
  }
  executor_->upload("drawn_tokens",
                    [](std::span<std::byte> bytes) { std::ranges::fill(bytes, std::byte{5}); });
  const std::vector<std::int32_t> tokens = {30, 31, 32}, pages = {3, 7, 9};
  std::vector<serve::LogitQuery> queries(3);
  for (std::size_t i = 0; i < 3; ++i) queries[i].draw_slot = static_cast<std::int32_t>(2 * i);
  std::vector<serve::StepRow> rows;
  for (std::size_t i = 0; i < 3; ++i) {
    rows.push_back({.tokens = std::span(tokens).subspan(i, 1),
                    .position = 1,
                    .pages = std::span(pages).subspan(i, 1),
                    .queries = std::span(queries).subspan(i, 1)});
  }
  stepper.prepare(rows, serve::StepKind::plain);
  stepper.start();
  stepper.finish();
  for (const std::string& cache : caches) {
    const auto bytes = executor_->download(cache);
    std::size_t changed = 0;
    for (std::size_t page = 0; page < kPages; ++page) {
      const auto content = page_of(bytes, page, kPages);
      const std::size_t first = page * content.size();
      bool is_same = true;
      for (std::size_t i = 0; i < content.size(); ++i)
        is_same = is_same && content[i] == std::byte((first + i) % 63);
      const bool is_active = std::ranges::count(pages, static_cast<std::int32_t>(page)) > 0;
      EXPECT_EQ(is_same, !is_active) << cache << ", page " << page;
      changed += is_same ? 0 : 1;
    }
    EXPECT_EQ(changed, 3u);
  }
  const auto slots = executor_->download("drawn_tokens");
  const auto* drawn = reinterpret_cast<const std::int32_t*>(slots.data());
  for (const std::size_t slot : {1u, 3u, 5u, 6u, 7u}) EXPECT_EQ(drawn[slot], 0x05050505);
  for (const std::size_t slot : {0u, 2u, 4u}) EXPECT_LT(drawn[slot], 320);
}

}  // namespace
}  // namespace parhelion::app
