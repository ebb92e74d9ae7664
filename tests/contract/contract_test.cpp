#include "contract/contract.h"

#include "base/error.h"
#include "ir/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parhelion::contract {
namespace {

using testing::ThrowsMessage;

/// A program with the inputs and outputs of an extend entry and nothing of a model.
ir::Program bare_extend() {
  ir::Program program;
  program.name = "extend";
  ir::Builder builder(program);
  const ir::Shape rows = {ir::Symbol::logit_rows};
  for (const char* name : {"token_ids", "positions", "query_indptr", "kv_length", "page_table",
                           "logit_index", "top_k"}) {
    builder.input(name, ir::TensorType(ir::Kind::i32, rows));
  }
  for (const char* name : {"write_location", "seed", "draw_offset"})
    builder.input(name, ir::TensorType(ir::Kind::u64, rows));
  for (const char* name : {"temperature", "top_p", "min_p"})
    builder.input(name, ir::TensorType(ir::Kind::f32, rows));
  const ir::ValueId targets = builder.input("target_ids", ir::TensorType(ir::Kind::i32, rows));
  const ir::ValueId logits =
      builder.one(ir::Fill{0.0, ir::Kind::f32, {ir::Symbol::logit_rows, 4}}, {});
  builder.output("log_probability", builder.one(ir::LogProbability{}, {logits, targets}));
  const auto find = [&](const char* name) {
    return builder.program().at(ir::find_buffer(program, name)).type;
  };
  const auto sampled = builder.add(
      ir::Sample{}, {logits, builder.input("temperature", find("temperature")),
                     builder.input("top_k", find("top_k")), builder.input("top_p", find("top_p")),
                     builder.input("min_p", find("min_p")), builder.input("seed", find("seed")),
                     builder.input("draw_offset", find("draw_offset"))});
  builder.output("sampled_ids", sampled[0]);
  builder.output("sampled_log_probability", sampled[1]);
  return program;
}

Contract legal_contract() {
  ir::Capacities one;
  one[ir::Symbol::tokens] = one[ir::Symbol::rows] = one[ir::Symbol::logit_rows] = 1;
  const SamplingValue off{.standard = 0, .lowest = 0, .highest = 1};
  return {.model = "bare",
          .extend = bare_extend(),
          .catalogue = {one},
          .vocabulary = 4,
          .cache = {.page_tokens = 16, .context_tokens = 32},
          .sampling = {.temperature = off, .top_k = off, .top_p = off, .min_p = off},
          .stop_ids = {}};
}

void expect_refusal(const Contract& contract, const std::string& message) {
  EXPECT_THAT([&] { validate(contract); }, ThrowsMessage<Error>(message));
}

TEST(Contract, ALegalOneIsAccepted) { EXPECT_NO_THROW(validate(legal_contract())); }

TEST(Contract, AMissingOutputIsNamed) {
  Contract contract = legal_contract();
  contract.extend.buffers.back().name = "other";
  expect_refusal(contract, "contract: extend has no output 'sampled_log_probability'");
}

TEST(Contract, AnEmptyCatalogueIsRefused) {
  Contract contract = legal_contract();
  contract.catalogue.clear();
  expect_refusal(contract, "contract: catalogue is empty, expected one instance");
}

TEST(Contract, AnInstanceWithoutRowsIsRefused) {
  Contract contract = legal_contract();
  contract.catalogue[0][ir::Symbol::rows] = 0;
  expect_refusal(contract,
                 "contract: an instance has a capacity of 0, expected tokens, rows, logit_rows");
}

TEST(Contract, AStandardValueOutsideItsRangeIsRefused) {
  Contract contract = legal_contract();
  contract.sampling.top_p.standard = 2;
  expect_refusal(contract, "contract: sampling top_p is 2 in [0, 1], expected inside its range");
}

TEST(Contract, GreedyIsAlwaysInRange) {
  Contract contract = legal_contract();
  contract.sampling.temperature = {.standard = 0.5, .lowest = 0.5, .highest = 1};
  expect_refusal(contract, "contract: sampling temperature starts at 0.5, expected 0");
}

TEST(Contract, ACacheWithoutPagesIsRefused) {
  Contract contract = legal_contract();
  contract.cache.page_tokens = 0;
  expect_refusal(contract, "contract: page_tokens 0, context_tokens 32, expected > 0");
}

}  // namespace
}  // namespace parhelion::contract
