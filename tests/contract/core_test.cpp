#include "contract/core.h"

#include "base/error.h"
#include "contract/small_core.h"
#include "ir/expect_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace parhelion::contract {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

void expect_weights(const Core& core, const SmallWeights& expected) {
  ASSERT_EQ(core.weights.size(), expected.all().size());
  for (std::size_t i = 0; i < core.weights.size(); ++i) {
    EXPECT_EQ(core.weights[i].name, expected.all()[i].name);
    EXPECT_EQ(core.weights[i].type, expected.all()[i].type);
    EXPECT_TRUE(std::ranges::equal(core.weights[i].bytes, expected.all()[i].bytes));
  }
}

TEST(Core, ComesBackAsItWasWritten) {
  const ScratchDirectory directory;
  const Contract contract = full_contract();
  const SmallWeights weights(contract);
  write_core(directory.path() / "m.core", contract, weights.all(), {.keys = {kSmallSecret}});
  const Core core = read_core(directory.path() / "m.core", trust_in(kSmallSecret));
  EXPECT_EQ(core.contract, contract);
  expect_weights(core, weights);
  EXPECT_EQ(core.signature, Signed::by_trusted_key);
  EXPECT_EQ(core.signer, "test");
  EXPECT_EQ(core.revision, 0u);
}

TEST(Core, KeepsWeightsOnPagesOfTheMapping) {
  const ScratchDirectory directory;
  const Contract contract = full_contract();
  write_core(directory.path() / "m.core", contract, SmallWeights(contract).all());
  const Core core = read_core(directory.path() / "m.core", trust_in_any());
  EXPECT_EQ((core.weights[0].bytes.data() - core.file->bytes().data()) % kPageBytes, 0);
  for (const WeightView& weight : core.weights)
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(weight.bytes.data()) % kWeightAlignment, 0u);
}

TEST(Core, IsTheSameFileForTheSameInput) { EXPECT_EQ(small_core(), small_core()); }

TEST(Core, IsTheSameFileInWhateverPiecesWeightsArrive) {
  const ScratchDirectory directory;
  const Contract contract = full_contract();
  CoreWriter writer(directory.path() / "m.core",
                    {.keys = {kSmallSecret}, .leaf_bytes = kPageBytes});
  const SmallWeights weights(contract);
  for (const WeightBytes& weight : weights.all()) {
    writer.weight(weight.name, weight.type);
    for (std::size_t at = 0; at < weight.bytes.size(); at += 7)
      writer.append(weight.bytes.subspan(at, std::min<std::size_t>(7, weight.bytes.size() - at)));
  }
  writer.finish(contract);
  EXPECT_EQ(read_file(directory.path() / "m.core"), small_core());
}

TEST(Core, ASharedWeightIsThereOnce) {
  const ScratchDirectory directory;
  const Contract contract = full_contract();
  CoreWriter writer(directory.path() / "m.core");
  const SmallWeights weights(contract);
  for (const WeightBytes& weight : weights.all()) {
    if (weight.name == "layers.0.up") {
      writer.share(weight.name, weight.type, "layers.0.gate");
      continue;
    }
    writer.weight(weight.name, weight.type);
    writer.append(weight.bytes);
  }
  writer.finish(contract);
  const Core core = read_core(directory.path() / "m.core", trust_in_any());
  const auto gate = std::ranges::find(core.weights, "layers.0.gate", &WeightView::name);
  const auto up = std::ranges::find(core.weights, "layers.0.up", &WeightView::name);
  EXPECT_EQ(up->bytes.data(), gate->bytes.data());
}

TEST(Core, NothingStaysBehindWithoutFinish) {
  const ScratchDirectory directory;
  {
    CoreWriter writer(directory.path() / "m.core");
    writer.weight("table", {ir::Kind::f32, {11, 8}});
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(Core, AWeightOfAnotherLengthIsNotWritten) {
  const ScratchDirectory directory;
  CoreWriter writer(directory.path() / "m.core");
  writer.weight("table", {ir::Kind::f32, {2}});
  const std::vector<std::byte> bytes(9);
  expect_error(ErrorKind::invalid, "core: weight 'table' got 9 bytes, expected at most 8 more",
               [&] { writer.append(bytes); });
  expect_error(ErrorKind::invalid, "core: weight 'table' lacks 8 bytes", [&] {
    writer.weight("other", {ir::Kind::f32, {2}});
  });
}

TEST(Core, AContractThatCouldNotBeReadIsNotWritten) {
  const ScratchDirectory directory;
  Contract contract = full_contract();
  const SmallWeights weights(contract);
  contract.plans[0].memory.of_value[0].offset = 1;
  EXPECT_THAT(
      [&] { write_core(directory.path() / "m.core", contract, weights.all()); },
      ThrowsMessage<Error>(HasSubstr("extend, instance 1: memory plan: value 1: offset is 1")));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(Core, SaysWhatItHas) {
  const std::string file = small_core();
  const std::string text = describe(read_core(as_bytes(file), "m", trust_in(kSmallSecret)));
  EXPECT_THAT(text, HasSubstr("signature signed by a trusted key (test)\n"));
  EXPECT_THAT(text, HasSubstr("instance  2: 8 tokens, 2 rows, 2 logit rows; "));
  EXPECT_THAT(text, HasSubstr("entry     copy_pages: 4 ops, 6 buffers\n"));
  EXPECT_THAT(text, HasSubstr("sampling  temperature 0.7 in [0, 2]\n"));
  EXPECT_THAT(text, HasSubstr("section   weights at 4096, "));
}

TEST(Core, DescribesNoCharacterThatATerminalObeys) {
  const ScratchDirectory directory;
  Contract contract = full_contract();
  contract.model = "small\x1b[2J\nsignature signed by a trusted key (release)\xc2\x9b";
  write_core(directory.path() / "m.core", contract, SmallWeights(contract).all());
  EXPECT_THAT(describe(read_core(directory.path() / "m.core", trust_in_any())),
              HasSubstr("model     small?[2J?signature signed by a trusted key (release)?\n"));
}

}  // namespace
}  // namespace parhelion::contract
