#include "contract/encoding.h"

#include "base/error.h"
#include "contract/core.pb.h"
#include "contract/small_contract.h"
#include "contract/stored_op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace parhelion::contract {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Property;
using testing::Throws;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

auto refuses(ErrorKind kind, const std::string& message) {
  return Throws<Error>(
      AllOf(Property(&Error::kind, kind), Property(&Error::what, HasSubstr(message))));
}

/// A contract as its file keeps it: assets have sections of their own.
Contract without_assets(Contract contract) {
  contract.frontend.tokenizer.clear();
  contract.frontend.chat_template.clear();
  for (Asset& asset : contract.frontend.assets) asset.bytes.clear();
  return contract;
}

/// Parameters one after the other.
std::vector<WeightPlace> places(const Contract& contract) {
  std::vector<WeightPlace> result;
  std::int64_t end = 0;
  for (const ir::Buffer& buffer : contract.extend.buffers) {
    if (buffer.role != ir::Role::parameter) continue;
    const std::int64_t bytes = ir::byte_count(buffer.type);
    result.push_back({.name = buffer.name, .type = buffer.type, .offset = end, .bytes = bytes});
    end += (bytes + kWeightAlignment - 1) / kWeightAlignment * kWeightAlignment;
  }
  return result;
}

EncodedContract encoded_small() {
  Contract contract = small_contract();
  plan_instances(contract);
  const std::vector<WeightPlace> weights = places(contract);
  return {.contract = std::move(contract), .weights = weights};
}

constexpr std::int64_t kWeightsBytes = 1 << 16;

void expect_corrupt(const EncodedContract& encoded, const std::string& message) {
  EXPECT_THAT([&] { check_encoded(encoded, kWeightsBytes); },
              refuses(ErrorKind::corrupt, "CORE_CONTRACT_INVALID: " + message));
}

/// What decoding says of a message that `change` changed.
template <class Change>
auto decoding_after(const Change& change) {
  const Contract contract = full_contract();
  proto::Contract message;
  message.ParseFromString(encode(contract, places(contract)));
  change(message);
  const std::string bytes = message.SerializeAsString();
  return [bytes] { decode(bytes_of(bytes)); };
}

TEST(Encoding, KeepsEveryField) {
  const Contract contract = full_contract();
  const std::vector<WeightPlace> weights = places(contract);
  const EncodedContract decoded = decode(bytes_of(encode(contract, weights)));
  EXPECT_EQ(decoded.contract, without_assets(contract));
  EXPECT_EQ(decoded.weights, weights);
  EXPECT_NO_THROW(check_encoded(decoded, kWeightsBytes));
}

TEST(Encoding, GivesEqualBytesForEqualContracts) {
  const Contract contract = full_contract();
  const std::string bytes = encode(contract, places(contract));
  EXPECT_EQ(encode(full_contract(), places(contract)), bytes);
  const EncodedContract decoded = decode(bytes_of(bytes));
  EXPECT_EQ(encode(decoded.contract, decoded.weights), bytes);
}

TEST(Encoding, KeepsEqualKernelsOnce) {
  const Contract contract = full_contract();
  proto::Contract message;
  message.ParseFromString(encode(contract, {}));
  EXPECT_EQ(message.kernels_size(), 2);
}

TEST(Encoding, RefusesBytesThatAreNoMessage) {
  EXPECT_THAT([] { decode(bytes_of("no message")); },
              refuses(ErrorKind::corrupt, "CORE_CONTRACT_PARSE: 10 bytes are no contract message"));
}

// Weights are the last field of a contract without other entries.
TEST(Encoding, EveryTruncationIsRefused) {
  const EncodedContract encoded = encoded_small();
  const std::string bytes = encode(encoded.contract, encoded.weights);
  for (std::size_t size = 0; size < bytes.size(); size += 3) {
    EXPECT_THROW(
        {
          const std::string part = bytes.substr(0, size);
          check_encoded(decode(bytes_of(part)), kWeightsBytes);
        },
        Error)
        << size;
  }
}

TEST(Encoding, ARevisionDecidesNothing) {
  for (const std::uint32_t revision : {0u, std::numeric_limits<std::uint32_t>::max()}) {
    EXPECT_NO_THROW(
        decoding_after([&](proto::Contract& message) { message.set_revision(revision); })());
  }
}

TEST(Encoding, AFeatureThatIsNotKnownIsRefused) {
  EXPECT_THAT(decoding_after([](proto::Contract& message) { message.add_required_features(7); }),
              refuses(ErrorKind::unsupported, "CORE_FEATURE_UNKNOWN: needs feature 7"));
}

TEST(Encoding, AbsentFieldsMeanWhatHeldBeforeThem) {
  Contract contract = small_contract();
  proto::Contract message;
  message.ParseFromString(encode(contract, {}));
  message.clear_completion_tokens();
  message.clear_verify_tokens();
  message.mutable_sampling()->clear_repetition_penalty();
  const std::string bytes = message.SerializeAsString();
  EXPECT_EQ(decode(bytes_of(bytes)).contract, contract);
  EXPECT_EQ(completion_capacity(decode(bytes_of(bytes)).contract), 8);
}

TEST(Encoding, AnOpFamilyThatIsNotKnownIsRefused) {
  EXPECT_THAT(decoding_after([](proto::Contract& message) {
                message.mutable_extend()->mutable_nodes(0)->mutable_op()->set_family(999);
              }),
              refuses(ErrorKind::unsupported, "OP_UNSUPPORTED: op family 999 is not known"));
}

TEST(Encoding, AnOpVersionThatIsNotKnownIsRefused) {
  EXPECT_THAT(decoding_after([](proto::Contract& message) {
                message.mutable_extend()->mutable_nodes(1)->mutable_op()->set_version(2);
              }),
              refuses(ErrorKind::unsupported,
                      "OP_UNSUPPORTED: op family 2 is of version 2, this build knows 1"));
}

TEST(Encoding, AnEnumeratorThatIsNoneOrNotKnownIsRefused) {
  const auto with_role = [](int role) {
    return decoding_after([&](proto::Contract& message) {
      message.mutable_extend()->mutable_buffers(0)->set_role(static_cast<proto::Role>(role));
    });
  };
  EXPECT_THAT(with_role(0), refuses(ErrorKind::corrupt, "the role of a buffer is 0"));
  EXPECT_THAT(with_role(99), refuses(ErrorKind::unsupported, "the role of a buffer is 99"));
}

TEST(Encoding, ADimOutOfBoundsIsRefused) {
  const auto with_base = [](std::int64_t base) {
    return decoding_after([&](proto::Contract& message) {
      message.mutable_extend()
          ->mutable_values(0)
          ->mutable_type()
          ->mutable_shape()
          ->add_dims()
          ->set_base(base);
    });
  };
  EXPECT_THAT(with_base(-1), refuses(ErrorKind::corrupt, "a dim has the number -1"));
  EXPECT_THAT(with_base(std::numeric_limits<std::int64_t>::max()),
              refuses(ErrorKind::corrupt, "a dim has the number 9223372036854775807"));
}

TEST(Encoding, MoreDimsThanAShapeMayHaveAreRefused) {
  EXPECT_THAT(decoding_after([](proto::Contract& message) {
                auto* shape =
                    message.mutable_extend()->mutable_values(0)->mutable_type()->mutable_shape();
                for (int i = 0; i < 9; ++i) shape->add_dims()->set_base(1);
              }),
              refuses(ErrorKind::corrupt, "dims, expected at most 8"));
}

TEST(Encoding, MoreInstancesThanACatalogueMayHaveAreRefused) {
  EXPECT_THAT(decoding_after([](proto::Contract& message) {
                for (int i = 0; i < 300; ++i) message.add_catalogue();
              }),
              refuses(ErrorKind::corrupt, "has 302 instances or plans, expected at most 256"));
}

TEST(Encoding, AKernelThatDoesNotExistIsRefused) {
  EXPECT_THAT(
      decoding_after([](proto::Contract& message) { message.mutable_plans(1)->set_kernels(0, 3); }),
      refuses(ErrorKind::corrupt, "kernel 3 does not exist, there are 2"));
}

TEST(CheckEncoded, AnIdThatNamesNothingIsRefused) {
  EncodedContract encoded = encoded_small();
  encoded.contract.extend.ops[3].inputs[0].value = {4000};
  expect_corrupt(encoded, "verify P1: op 4");
}

TEST(CheckEncoded, AReadBeforeItsValueIsRefused) {
  EncodedContract encoded = encoded_small();
  encoded.contract.extend.ops[0].inputs[0].value = encoded.contract.extend.ops[5].outputs[0];
  expect_corrupt(encoded, "verify P4: op 1");
}

TEST(CheckEncoded, ACapacityOutOfBoundsIsRefused) {
  EncodedContract encoded = encoded_small();
  encoded.contract.catalogue[1][ir::Symbol::tokens] = std::numeric_limits<std::int64_t>::max();
  expect_corrupt(encoded, "contract: an instance has a capacity above 2147483647");
}

/// The small contract with a constant of 2^31 rows.
EncodedContract encoded_with_constant(std::int64_t columns) {
  EncodedContract encoded = encoded_small();
  ir::Builder builder(encoded.contract.extend);
  builder.constant("huge", ir::Fill{0.0, ir::Kind::f32, {std::int64_t{1} << 31, columns}});
  return encoded;
}

TEST(CheckEncoded, SizesBeyond64BitsAreRefused) {
  expect_corrupt(
      encoded_with_constant(std::int64_t{1} << 31),
      "extend, instance 1: type f32[2147483648, 2147483648]: its bytes do not fit in 64 bits");
}

TEST(CheckEncoded, ABufferOfAbsurdSizeIsRefused) {
  expect_corrupt(encoded_with_constant(std::int64_t{1} << 20),
                 "extend, instance 1: buffer 'huge' has 9007199254740992 bytes");
}

TEST(CheckEncoded, AMissingMemoryPlanIsRefused) {
  EncodedContract encoded = encoded_small();
  encoded.contract.plans.clear();
  expect_corrupt(encoded, "extend has 0 memory plans, expected one for each of 2 instances");
}

TEST(CheckEncoded, OverlappingValuesAreRefused) {
  EncodedContract encoded = encoded_small();
  ir::MemoryPlan& plan = encoded.contract.plans[1].memory;
  for (ir::Range& range : plan.of_value)
    if (range.arena == ir::ArenaKind::transient) range.offset = 0;
  EXPECT_THAT([&] { check_encoded(encoded, kWeightsBytes); },
              refuses(ErrorKind::corrupt, "overlap in arena transient"));
}

TEST(CheckEncoded, AnArenaOfAbsurdSizeIsRefused) {
  EncodedContract encoded = encoded_small();
  encoded.contract.plans[0].memory.peak_bytes[2] = std::numeric_limits<std::int64_t>::max();
  expect_corrupt(encoded,
                 "extend, instance 1: memory plan: arena transient has 9223372036854775807 bytes");
}

TEST(CheckEncoded, KernelsForSomeOpsAreRefused) {
  EncodedContract encoded = encoded_small();
  encoded.contract.plans[0].kernels = {{.kernel = "plain"}};
  expect_corrupt(encoded, "extend, instance 1: has kernels for 1 ops");
}

TEST(CheckEncoded, AWeightOfAnotherTypeIsRefused) {
  EncodedContract encoded = encoded_small();
  encoded.weights[0].type.shape[0] = 12;
  expect_corrupt(encoded, "weight 'table': is f32[12, 8], expected f32[11, 8] as in extend");
}

TEST(CheckEncoded, AWeightThatIsMissingOrTwiceIsRefused) {
  EncodedContract encoded = encoded_small();
  encoded.weights.push_back(encoded.weights[0]);
  expect_corrupt(encoded, "weight 'table' is no parameter of extend, or is there twice");
  encoded.weights.resize(encoded.weights.size() - 2);
  expect_corrupt(encoded, "parameter 'layers.1.down' has no weight");
}

TEST(CheckEncoded, AWeightOutsideTheSectionIsRefused) {
  for (const std::int64_t offset : {std::int64_t{-64}, std::int64_t{32}, kWeightsBytes,
                                    std::numeric_limits<std::int64_t>::max() - 63}) {
    EncodedContract encoded = encoded_small();
    encoded.weights[0].offset = offset;
    expect_corrupt(encoded, "weight 'table': WEIGHT_RANGE: lies at");
  }
}

TEST(CheckEncoded, WeightsThatOverlapAreRefused) {
  EncodedContract encoded = encoded_small();
  encoded.weights[0].offset = encoded.weights[1].offset + 64;
  expect_corrupt(encoded, "WEIGHT_RANGE: ");
}

TEST(CheckEncoded, WeightsInOnePlaceAreOneCopy) {
  EncodedContract encoded = encoded_small();
  const auto gate = std::ranges::find(encoded.weights, "layers.0.gate", &WeightPlace::name);
  const auto up = std::ranges::find(encoded.weights, "layers.0.up", &WeightPlace::name);
  up->offset = gate->offset;
  EXPECT_NO_THROW(check_encoded(encoded, kWeightsBytes));
}

}  // namespace
}  // namespace parhelion::contract
