#pragma once

#include "ir/tensor_type.h"
#include "train/config/optimizer_settings.h"

#include <span>
#include <string>
#include <vector>

namespace parhelion::train {

/// What groups ask of a trained parameter.
struct TrainedParameter {
  std::string name;
  ir::TensorType type;
  bool is_embedding = false;  ///< the embedding table or the head
};

/// How the update of one parameter differs from others'.
struct UpdateScale {
  double lr_scale = 1.0;
  double weight_decay = 0.0;
  bool operator==(const UpdateScale&) const = default;
};

/// The learning-rate scale and weight decay of each parameter: those of the first group that
/// matches its name. Where no group gives a weight decay it is `weight_decay` of the optimizer, or
/// 0 for embeddings and parameters of rank 1, which norms and biases are.
///
/// Errors: invalid, naming the group, if all that its expression matches, if anything, belongs to
///         groups before it.
std::vector<UpdateScale> resolve_groups(const OptimizerSettings& settings,
                                        std::span<const TrainedParameter> parameters);

}  // namespace parhelion::train
