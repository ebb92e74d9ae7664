// Worked examples of pages, matches and request values: the number of each is in its name.
#include "contract/contract.h"
#include "serve/cache/page_cache.h"
#include "serve/sampling/logit_edits.h"
#include "serve/sampling/parameters.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

namespace parhelion::serve {
namespace {

constexpr std::int64_t kPage = 16;

std::vector<std::int32_t> tokens_from(std::int32_t first, std::int64_t count) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

/// Publishes a sequence of `tokens` which then holds none of its pages.
void publish(PageCache& cache, const std::vector<std::int32_t>& tokens) {
  HeldPages held;
  ASSERT_TRUE(cache.grow(cache.pages_for(std::ssize(tokens)), held));
  cache.publish_all(0, tokens, std::ssize(tokens), held);
  cache.release(held);
}

TEST(WorkedExample, N01CountsPages) {
  const PageCache cache(2, kPage);
  EXPECT_EQ(cache.pages_for(0), 0);
  EXPECT_EQ(cache.pages_for(1), 1);
  EXPECT_EQ(cache.pages_for(16), 1);
  EXPECT_EQ(cache.pages_for(17), 2);
}

TEST(WorkedExample, N05AdmitsByTheWorstCase) {
  PageCache cache(1 + 76, kPage);
  HeldPages held;
  EXPECT_EQ(cache.pages_for(1000 + 200 + 4), 76);
  EXPECT_FALSE(cache.promise(77, held));
  EXPECT_TRUE(cache.promise(76, held));
  EXPECT_EQ(cache.available_count(), 0);
}

TEST(WorkedExample, N06AHitNeedsOnlyTheOtherPages) {
  PageCache cache(1 + 76, kPage);
  const std::vector<std::int32_t> tokens = tokens_from(0, 1000);
  publish(cache, {tokens.begin(), tokens.begin() + 512});
  HeldPages held;
  EXPECT_EQ(cache.hold_match(0, tokens, held).tokens, 512);
  EXPECT_EQ(held.published, 32);
  EXPECT_EQ(cache.available_count(), 44);
  EXPECT_TRUE(cache.promise(cache.pages_for(1204) - held.published, held));
  EXPECT_EQ(held.promised, 44);
}

TEST(WorkedExample, N07FourSequencesShareWholePagesAndCopyTheLast) {
  PageCache cache(1 + 118 + 1, kPage);  // the page that is copied from is one more
  const std::vector<std::int32_t> tokens = tokens_from(0, 1000);
  publish(cache, tokens);
  std::array<HeldPages, 4> sequences;
  for (HeldPages& held : sequences) {
    const PrefixTree::Match match = cache.hold_match(0, tokens, held);
    EXPECT_EQ(held.published, 62);
    EXPECT_EQ(match.partial_tokens, 8);
    ASSERT_TRUE(cache.promise(cache.pages_for(1204) - held.published, held));
    ASSERT_TRUE(cache.grow(held.published + 1, held));  // where the 8 tokens are copied to
    cache.release_partial(match.partial_page);
  }
  for (HeldPages& held : sequences) ASSERT_TRUE(cache.grow(76, held));
  cache.audit(4 * 14);
  EXPECT_EQ(cache.total_count() - cache.free_count() - cache.cached_count(), 118);
}

TEST(WorkedExample, N08MatchesAllButTheLastToken) {
  PageCache cache(20, kPage);
  const std::vector<std::int32_t> tokens = tokens_from(0, 100);
  publish(cache, tokens);
  HeldPages held;
  const auto match = cache.hold_match(0, std::span(tokens).first(99), held);
  EXPECT_EQ(match.tokens, 96);  // what a cache without copies of pages would give
  EXPECT_EQ(match.tokens + match.partial_tokens, 99);
}

TEST(WorkedExample, N26And27PenaltiesBecomeScalesAndSubtractions) {
  contract::Contract contract;
  contract.vocabulary = 64;
  const Request request{.prompt = {1},
                        .max_tokens = 8,
                        .repetition_penalty = 2.0,
                        .presence_penalty = 0.5,
                        .frequency_penalty = 0.1};
  LogitEdits edits(contract, request);
  for (int i = 0; i < 3; ++i) edits.note_drawn(9);
  const LogitEditsView& view = *edits.view(nullptr, 3);
  ASSERT_EQ(view.ids.size(), 2u);
  EXPECT_EQ(view.scale[0], 2.0f);  // of the prompt: no presence, no count
  EXPECT_EQ(view.subtract[0], 0.0f);
  EXPECT_EQ(view.scale[1], 2.0f);
  EXPECT_FLOAT_EQ(view.subtract[1], 0.8f);
}

double temperature_of(const contract::SamplingValue& policy, std::optional<double> asked) {
  contract::SamplingPolicy sampling;
  sampling.temperature = policy;
  sampling.top_p = {.standard = 1, .lowest = 0, .highest = 1};
  Request request;
  request.temperature = asked;
  return double{effective_sampling(sampling, request).temperature};
}

TEST(WorkedExample, N28ClampsToTheRangeOfTheModel) {
  const contract::SamplingValue policy{.standard = 0.7, .lowest = 0.6, .highest = 1.0};
  EXPECT_NEAR(temperature_of(policy, 1.5), 1.0, 1e-6);
  EXPECT_NEAR(temperature_of(policy, 0.2), 0.6, 1e-6);
  EXPECT_NEAR(temperature_of(policy, std::nullopt), 0.7, 1e-6);
}

TEST(WorkedExample, N29AValueWithoutARangeStaysTheStandard) {
  const contract::SamplingValue policy{.standard = 1.0, .lowest = 1.0, .highest = 1.0};
  EXPECT_NEAR(temperature_of(policy, 0.3), 1.0, 1e-6);
}

}  // namespace
}  // namespace parhelion::serve
