#include "serve/sampling/logit_edits.h"

#include <gtest/gtest.h>

#include <numeric>

namespace parhelion::serve {
namespace {

contract::Contract contract_of(std::int64_t vocabulary) {
  contract::Contract contract;
  contract.vocabulary = vocabulary;
  contract.cache.context_tokens = 64;
  return contract;
}

bool is_set(const LogitEditsView& view, std::size_t id) {
  return ((view.mask[id / 32] >> (id % 32)) & 1u) != 0;
}

struct OnlyNine final : TokenMask {
  void fill(std::span<std::uint32_t> bits) override {
    std::ranges::fill(bits, 0u);
    bits[0] = 1u << 9;
  }
  void accept(std::int32_t) override {}
};

TEST(LogitEdits, BadIdsLeaveNothingOfTheAllowedOnes) {
  const contract::Contract contract = contract_of(64);
  const Request request{.prompt = {1}, .max_tokens = 8, .bad_ids = {5}, .allowed_ids = {5}};
  EXPECT_EQ(LogitEdits(contract, request).view(nullptr, 0), nullptr);
}

TEST(LogitEdits, BadIdsLeaveNothingOfAMask) {
  const contract::Contract contract = contract_of(64);
  const Request request{.prompt = {1}, .max_tokens = 8, .bad_ids = {9}};
  LogitEdits edits(contract, request);
  OnlyNine mask;
  EXPECT_EQ(edits.view(&mask, 0), nullptr);
  const LogitEditsView* unmasked = edits.view(nullptr, 0);
  ASSERT_NE(unmasked, nullptr);
  EXPECT_FALSE(is_set(*unmasked, 9));
  EXPECT_TRUE(is_set(*unmasked, 10));
}

TEST(LogitEdits, NoIdIsLeftWhereAllAreBadThoughTheLastWordHasMoreBits) {
  const contract::Contract contract = contract_of(50);
  Request request{.prompt = {1}, .max_tokens = 8};
  request.bad_ids.resize(50);
  std::iota(request.bad_ids.begin(), request.bad_ids.end(), 0);
  EXPECT_EQ(LogitEdits(contract, request).view(nullptr, 0), nullptr);
  request.bad_ids.pop_back();
  EXPECT_NE(LogitEdits(contract, request).view(nullptr, 0), nullptr);
}

}  // namespace
}  // namespace parhelion::serve
