#pragma once

#include "contract/contract.h"
#include "contract/stored_op.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace parhelion::contract {

/// Of the contract's encoding. It is printed and decides nothing; 0 is unstable.
inline constexpr std::uint32_t kSchemaRevision = 0;

/// The most bytes that an encoded contract may have.
inline constexpr std::int64_t kMostContractBytes = 16 << 20;

/// Offsets of weights are multiples of this many bytes.
inline constexpr std::int64_t kWeightAlignment = 64;

/// Where a parameter lies in the weights of a core.
struct WeightPlace {
  std::string name;
  ir::TensorType type;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  bool operator==(const WeightPlace&) const = default;
};

/// What the contract section of a core says. Tokenizer, chat template and assets have sections of
/// their own: here they are empty, assets with their names.
struct EncodedContract {
  std::uint32_t revision = kSchemaRevision;
  Contract contract;
  std::vector<WeightPlace> weights;
};

/// The bytes of the section; equal contracts give equal bytes. Kernel choices that are equal are
/// written once.
///
/// Errors: exhausted if it is too large.
std::string encode(const Contract& contract, std::span<const WeightPlace> weights);

/// Errors: corrupt if it is no contract or has a number, name or count out of bounds; unsupported
///         if it needs a feature, an op family or a version that this build does not know.
EncodedContract decode(std::span<const std::byte> bytes,
                       std::span<const Upgrade> upgrades = family_upgrades());

/// Checks what a file may get wrong beyond `validate`: each instance of each entry by ir::verify,
/// its memory plan by ir::verify_memory, sizes, kernels, and that the weights are the program's
/// parameters, apart from each other or in one place.
///
/// Errors: corrupt, naming the instance or weight.
void check_encoded(const EncodedContract& encoded, std::int64_t weights_bytes);

}  // namespace parhelion::contract
