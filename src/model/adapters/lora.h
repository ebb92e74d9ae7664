#pragma once

#include "ir/program.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::model {

/// Low-rank adapters beside a model's weights: in each of `modules`, y = W x becomes
/// W x + B ((alpha / rank) A dropout(x)), with A [rank, inputs] and B [outputs, rank].
///
/// Source: Hu et al. 2021, arXiv:2106.09685
struct Lora {
  std::int64_t rank = 8;
  double alpha = 16.0;
  double dropout = 0.0;                   ///< share of x that is set to 0 in training
  std::vector<std::string> modules = {};  ///< paths of projections, in the order of the program
  bool operator==(const Lora&) const = default;

  double scale() const { return alpha / static_cast<double>(rank); }
};

/// Whether an adapter's dropout is at work: in the program that is differentiated, nowhere else.
enum class Dropout : std::uint8_t { off, on };

/// The parameters of a module's adapter, and the weight beside which they stand.
std::string lora_a_name(std::string_view module);
std::string lora_b_name(std::string_view module);
std::string adapted_weight_name(std::string_view module);

/// The paths of the modules that may have an adapter: the weight `<path>.weight` of each is a
/// parameter that ops multiply by. A head that is part of the loss is none of them.
std::vector<std::string> projections(const ir::Program& program);

/// Puts the adapters into a program that is not differentiated yet. All other parameters cease to
/// be trainable. What is computed from A, B and the weights is the same op for op in every program,
/// so trainer and server have equal bits.
///
/// Inputs: `dropout_seed` u64[], if dropout is on and above 0; each adapter draws with a tag of its
///         own
/// Errors: invalid if the program has no projection of a module's name, or the module has a bias
void apply_lora(ir::Program& program, const Lora& lora, Dropout dropout);

}  // namespace parhelion::model
