#include "contract/contract.h"

#include "base/error.h"
#include "contract/small_contract.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace parhelion::contract {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

void expect_refusal(const Contract& contract, const std::string& message) {
  EXPECT_THAT([&] { validate(contract); }, ThrowsMessage<Error>(message));
}

TEST(Contract, ALegalOneIsAccepted) {
  EXPECT_NO_THROW(validate(small_contract()));
  EXPECT_NO_THROW(validate(full_contract()));
}

TEST(Contract, AMissingOutputIsNamed) {
  Contract contract = small_contract();
  const ir::BufferId output = ir::find_buffer(contract.extend, "sampled_log_probability");
  contract.extend.at(output).name = "other";
  expect_refusal(contract, "contract: extend has no output 'sampled_log_probability'");
}

TEST(Contract, EmbeddingsNeedVectorsAndInstances) {
  Contract contract = full_contract();
  EXPECT_EQ(embedding_width(contract), kSmallWidth);
  EXPECT_EQ(embedding_width(small_contract()), 0);
  contract.embedding.dimensions = {9};
  expect_refusal(contract, "contract: embedding dimension is 9, expected 1 to 8");
  contract = full_contract();
  contract.embed.at(ir::find_buffer(contract.embed, "embedding")).name = "other";
  contract.embedding.dimensions.clear();
  EXPECT_THAT([&] { validate(contract); },
              ThrowsMessage<Error>(HasSubstr("embed: output 'embedding' is f64[], expected "
                                             "f32[logit_rows, width]")));
  contract = full_contract();
  contract.embed_catalogue.clear();
  contract.embed_plans.clear();
  EXPECT_THAT([&] { validate(contract); },
              ThrowsMessage<Error>(HasSubstr("0 instances, expected both or none")));
}

TEST(Contract, AnInputOfAnotherTypeIsRefused) {
  Contract contract = small_contract();
  contract.extend = {};
  contract.extend.name = "extend";
  ir::Builder builder(contract.extend);
  builder.input("token_ids", {ir::Kind::i32, {1}});
  EXPECT_THAT([&] { validate(contract); },
              ThrowsMessage<Error>(HasSubstr(
                  "contract: extend: input 'token_ids' is i32[1], expected i32[tokens]")));
}

TEST(Contract, EveryProblemIsNamedAtOnce) {
  Contract contract = small_contract();
  contract.catalogue.clear();
  contract.sampling.top_p.standard = 2;
  EXPECT_THAT([&] { validate(contract); },
              ThrowsMessage<Error>(AllOf(HasSubstr("contract: catalogue is empty"),
                                         HasSubstr("\ncontract: sampling top_p is 2"))));
}

TEST(Contract, AStateThatDoesNotConsistOfPagesIsRefused) {
  Contract contract = small_contract();
  contract.cache.page_tokens = 8;
  EXPECT_THAT([&] { validate(contract); },
              ThrowsMessage<Error>(HasSubstr("extend: state 'layers.0.cache.key' is f32[pages, 16, "
                                             "1, 4], expected [pages, 8, ...]")));
}

TEST(Contract, DrawnTokensAreAListOfIds) {
  Contract contract = small_contract();
  contract.extend = {};
  contract.extend.name = "extend";
  ir::Builder builder(contract.extend);
  EXPECT_THAT([&] { validate(contract); },
              ThrowsMessage<Error>(HasSubstr("contract: extend has no state 'drawn_tokens'")));
  builder.state("drawn_tokens", {ir::Kind::i32, {ir::Symbol::rows}});
  EXPECT_THAT([&] { validate(contract); },
              ThrowsMessage<Error>(HasSubstr("contract: extend: state 'drawn_tokens' is i32[rows], "
                                             "expected i32[slots] with a slot or more")));
}

TEST(Contract, AStateOutsideEveryCacheGroupIsRefused) {
  Contract contract = full_contract();
  contract.cache.groups[1].buffers.pop_back();
  expect_refusal(contract,
                 "contract: state 'layers.1.cache.value' is in 0 cache groups, expected 1");
}

TEST(Contract, AWindowBelongsToASlidingWindowAlone) {
  Contract contract = full_contract();
  contract.cache.groups[0].window_tokens = 4;
  expect_refusal(contract, "contract: cache group of scheme full has a window of 4 tokens");
}

TEST(Contract, AnEmptyCatalogueIsRefused) {
  Contract contract = small_contract();
  contract.catalogue.clear();
  expect_refusal(contract, "contract: catalogue is empty, expected one instance");
}

TEST(Contract, AnInstanceWithoutRowsIsRefused) {
  Contract contract = small_contract();
  contract.catalogue[0][ir::Symbol::rows] = 0;
  expect_refusal(contract,
                 "contract: an instance has a capacity of 0, expected tokens, rows, logit_rows");
}

TEST(Contract, ACapacityThatIndicesCannotHoldIsRefused) {
  Contract contract = small_contract();
  contract.catalogue[0][ir::Symbol::tokens] = std::int64_t{1} << 31;
  expect_refusal(
      contract, "contract: an instance has a capacity above 2147483647, which indices cannot hold");
}

TEST(Contract, AStandardValueOutsideItsRangeIsRefused) {
  Contract contract = small_contract();
  contract.sampling.top_p.standard = 2;
  expect_refusal(contract, "contract: sampling top_p is 2 in [0, 1], expected inside its range");
}

TEST(Contract, ARangeOutsideWhatIsLegalIsRefused) {
  Contract contract = small_contract();
  contract.sampling.presence_penalty.highest = 3;
  expect_refusal(
      contract,
      "contract: sampling presence_penalty has the range [-2, 3], expected inside [-2, 2]");
}

TEST(Contract, GreedyIsAlwaysInRange) {
  Contract contract = small_contract();
  contract.sampling.temperature = {.standard = 0.5, .lowest = 0.5, .highest = 1};
  expect_refusal(contract, "contract: sampling temperature starts at 0.5, expected 0");
}

TEST(Contract, ACacheWithoutPagesIsRefused) {
  Contract contract = small_contract();
  contract.cache.page_tokens = 0;
  EXPECT_THAT([&] { validate(contract); },
              ThrowsMessage<Error>(HasSubstr("page_tokens is 0, expected 1 to 1073741824")));
}

TEST(Contract, CountsThatIndicesCannotHoldAreRefused) {
  for (const std::int64_t count :
       {std::int64_t{1} << 31, std::numeric_limits<std::int64_t>::max()}) {
    Contract contract = small_contract();
    contract.cache.context_tokens = count;
    expect_refusal(contract,
                   fmt::format("contract: context_tokens is {}, expected 1 to 1073741824", count));
    contract = small_contract();
    contract.vocabulary = count;
    EXPECT_THAT([&] { validate(contract); },
                ThrowsMessage<Error>(HasSubstr(fmt::format("vocabulary is {}", count))));
  }
}

TEST(Contract, ARangeThatItsTypeCannotHoldIsRefused) {
  Contract contract = small_contract();
  contract.sampling.top_k.highest = 1e308;
  expect_refusal(
      contract,
      "contract: sampling top_k has the range [0, 1e+308], expected inside [0, 1073741824]");
  contract = small_contract();
  contract.sampling.repetition_penalty.lowest = 1e-320;
  EXPECT_THAT([&] { validate(contract); },
              ThrowsMessage<Error>(HasSubstr("sampling repetition_penalty has the range")));
}

TEST(Contract, AnOpOfATrainingStepIsRefused) {
  Contract contract = small_contract();
  contract.extend.ops.back().phase = ir::Phase::update;
  EXPECT_THAT([&] { validate(contract); },
              ThrowsMessage<Error>(HasSubstr("is of phase update, expected forward")));
}

TEST(Contract, AStopIdOutsideTheVocabularyIsRefused) {
  Contract contract = small_contract();
  contract.stop_ids = {11};
  expect_refusal(contract, "contract: stop id 11 is outside the vocabulary of 11");
}

TEST(Contract, ALimitAboveTheCatalogueIsRefused) {
  Contract contract = small_contract();
  contract.limits.rows = 3;
  expect_refusal(contract, "contract: limit rows is 3, expected 0 to 2");
}

TEST(Contract, PlansOfSomeInstancesAreRefused) {
  Contract contract = full_contract();
  contract.plans.pop_back();
  expect_refusal(contract, "contract: extend has plans of 1 instances, expected 2");
}

// Worked examples 16 and 17 of a completion's capacity.
TEST(CompletionCapacity, AbsentMeansEight) {
  Contract contract = small_contract();
  EXPECT_EQ(completion_capacity(contract), 8);
  for (const std::int64_t capacity : {1, 64}) {
    contract.completion_tokens = capacity;
    EXPECT_EQ(completion_capacity(contract), capacity);
    EXPECT_NO_THROW(validate(contract));
  }
}

TEST(CompletionCapacity, MoreThan64IsRefused) {
  Contract contract = small_contract();
  contract.completion_tokens = 65;
  expect_refusal(contract, "contract: completion_tokens is 65, expected 0 to 64");
}

TEST(CompletionCapacity, BoundsWhatOneExecutionVerifies) {
  Contract contract = small_contract();
  contract.verify_tokens = 8;
  EXPECT_NO_THROW(validate(contract));
  contract.verify_tokens = 9;
  expect_refusal(contract,
                 "contract: verify_tokens is 9, expected 1 to the completion capacity of 8");
}

TEST(Entries, ArePlannedWithOneContextBesideTheNullPage) {
  Contract contract = small_contract();
  contract.cache.context_tokens = 33;
  const ir::Capacities capacities = entries(contract).front().instances.at(1);
  EXPECT_EQ(capacities[ir::Symbol::tokens], 8);
  EXPECT_EQ(capacities[ir::Symbol::pages_per_row], 3);
  EXPECT_EQ(capacities[ir::Symbol::pages], 4);
}

TEST(Entries, AreThoseThatHaveOps) {
  EXPECT_EQ(entries(small_contract()).size(), 1u);
  const Contract contract = full_contract();
  const std::vector<EntryView> all = entries(contract);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[1].name, "edited");
  EXPECT_EQ(all[2].name, "copy_pages");
  EXPECT_EQ(all[2].instances.size(), 1u);
  EXPECT_EQ(all[3].name, "embed");
  EXPECT_EQ(all[3].instances.size(), 1u);
}

TEST(Contract, EditsNeedACatalogue) {
  Contract contract = full_contract();
  contract.edited_catalogue.clear();
  contract.edited_plans.clear();
  EXPECT_THAT([&] { validate(contract); },
              ThrowsMessage<Error>(HasSubstr("contract: edited has ")));
}

TEST(Contract, AMaskOfAnotherVocabularyIsRefused) {
  Contract contract = full_contract();
  contract.vocabulary = 33;
  expect_refusal(contract,
                 "contract: edited: input 'token_mask' is i32[logit_rows, 1], expected "
                 "i32[logit_rows, 2]");
}

TEST(Contract, AnotherEntryHasTheCachesOfExtend) {
  Contract contract = full_contract();
  contract.copy_pages = {};
  ir::Builder builder(contract.copy_pages);
  const ir::TensorType lanes(ir::Kind::i32, {2});
  builder.one(ir::CopyPages{},
              {builder.input("source_page", lanes), builder.input("destination_page", lanes),
               builder.state("other", {ir::Kind::f32, {ir::Symbol::pages, 16}})});
  expect_refusal(contract, "contract: copy_pages: state 'other' is not that of extend");
}

TEST(Contract, RefusesGoldenProbesThatNoRequestCouldBe) {
  const auto refusal = [](auto change) {
    Contract contract = full_contract();
    change(contract.golden);
    return [contract] { validate(contract); };
  };
  EXPECT_NO_THROW(validate(full_contract()));
  EXPECT_THAT(refusal([](Golden& golden) { golden.tolerance = 0; }),
              testing::ThrowsMessage<Error>(testing::HasSubstr("golden tolerance is 0")));
  EXPECT_THAT(refusal([](Golden& golden) { golden.probes[0].prompt[0] = -1; }),
              testing::ThrowsMessage<Error>(testing::HasSubstr("outside the vocabulary")));
  EXPECT_THAT(refusal([](Golden& golden) { golden.probes[0].tokens.clear(); }),
              testing::ThrowsMessage<Error>(testing::HasSubstr("expected some of each")));
  EXPECT_THAT(
      refusal([](Golden& golden) { golden.probes[0].prompt_log_probabilities.push_back(0); }),
      testing::ThrowsMessage<Error>(testing::HasSubstr("2 log-probabilities of its prompt")));
  EXPECT_THAT(
      refusal([](Golden& golden) { golden.probes[0].tokens[0].log_probability = INFINITY; }),
      testing::ThrowsMessage<Error>(testing::HasSubstr("not finite")));
}

}  // namespace
}  // namespace parhelion::contract
