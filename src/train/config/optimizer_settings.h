#pragma once

#include "base/setting.h"
#include "train/config/number_format.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace parhelion::train {

enum class OptimizerKind : std::uint8_t {
  adamw,  ///< weight decay apart from the moments
  adam,   ///< weight decay as part of the gradient
  sgd,    ///< with or without momentum; weight decay as part of the gradient
};
constexpr auto choices(const OptimizerKind*) {
  return std::array{choice("adamw", OptimizerKind::adamw), choice("adam", OptimizerKind::adam),
                    choice("sgd", OptimizerKind::sgd)};
}

/// What a loss or gradient norm that is not finite does to the run.
enum class OnNonfinite : std::uint8_t {
  stop,
  skip,  ///< the step updates nothing and is counted
};
constexpr auto choices(const OnNonfinite*) {
  return std::array{choice("stop", OnNonfinite::stop), choice("skip", OnNonfinite::skip)};
}

/// Table `[[optimizer.groups]]`: parameters with values of their own.
struct OptimizerGroup {
  std::string match;
  double lr_scale = 1.0;
  std::optional<double> weight_decay;
  bool operator==(const OptimizerGroup&) const = default;
};

constexpr auto settings(const OptimizerGroup*) {
  return std::tuple(
      required_setting("match", &OptimizerGroup::match,
                       "regular expression which a parameter's whole name has to match, such as "
                       "`model.layers.0.mlp.up_proj.weight`; the first group that matches counts"),
      setting("lr_scale", &OptimizerGroup::lr_scale,
              "factor on the learning rate, at least 0; 0 keeps the parameters as they are"),
      setting("weight_decay", &OptimizerGroup::weight_decay,
              "weight decay of these parameters, at least 0; left out, it is what they would have "
              "without the group"));
}

/// Table `[optimizer]`: how gradients change parameters.
struct OptimizerSettings {
  OptimizerKind kind = OptimizerKind::adamw;
  double lr = 0.0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  double momentum = 0.0;
  double dampening = 0.0;
  bool nesterov = false;
  bool amsgrad = false;
  NumberFormat moments = NumberFormat::f32;
  bool master_weights = false;
  double max_norm = 1.0;
  OnNonfinite on_nonfinite = OnNonfinite::stop;
  std::vector<OptimizerGroup> groups;
  bool operator==(const OptimizerSettings&) const = default;
};

constexpr auto settings(const OptimizerSettings*) {
  return std::tuple(
      setting("kind", &OptimizerSettings::kind, "rule of the update, as PyTorch defines it"),
      required_setting("lr", &OptimizerSettings::lr,
                       "learning rate, above 0; `schedule` multiplies it"),
      setting("beta1", &OptimizerSettings::beta1,
              "adam and adamw: decay of the first moment a step, in [0, 1)"),
      setting("beta2", &OptimizerSettings::beta2,
              "adam and adamw: decay of the second moment a step, in [0, 1)"),
      setting("eps", &OptimizerSettings::eps,
              "adam and adamw: added to the root of the second moment, above 0"),
      setting("weight_decay", &OptimizerSettings::weight_decay,
              "pull of weights towards 0, at least 0; embeddings, the head and parameters of rank "
              "1, such as norms, have none unless a group gives it"),
      setting("momentum", &OptimizerSettings::momentum,
              "sgd: decay of the summed gradients a step, in [0, 1); 0 keeps none"),
      setting("dampening", &OptimizerSettings::dampening,
              "sgd: share of the gradient that momentum leaves out, in [0, 1]"),
      setting("nesterov", &OptimizerSettings::nesterov,
              "sgd: whether momentum looks one step ahead; needs momentum and no dampening"),
      setting("amsgrad", &OptimizerSettings::amsgrad,
              "adam and adamw: whether the largest second moment so far stands for the second "
              "moment"),
      setting("moments", &OptimizerSettings::moments,
              "what moments and momentum are stored as; bf16 is rounded stochastically"),
      setting(
          "master_weights", &OptimizerSettings::master_weights,
          "model.dtype bf16: whether each trained parameter is kept in f32 too, which the update "
          "changes, and rounded to nearest from that; without, bf16 is rounded stochastically"),
      setting("max_norm", &OptimizerSettings::max_norm,
              "gradients whose norm over all parameters is larger are scaled down to it; 0 scales "
              "none"),
      setting("on_nonfinite", &OptimizerSettings::on_nonfinite,
              "what a loss or norm that is not finite does: `stop` ends the run and names the "
              "documents, `skip` updates nothing, counts the step and goes on"),
      setting("groups", &OptimizerSettings::groups,
              "parameters with another learning rate or weight decay"));
}

}  // namespace parhelion::train
