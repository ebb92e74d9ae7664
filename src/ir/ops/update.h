#pragma once

#include "ir/answers.h"

#include <tuple>
#include <vector>

namespace parhelion::ir {

/// How an update rounds what it stores as bf16.
enum class Rounding : std::uint8_t {
  nearest,
  stochastic,  ///< up or down with the odds that keep the mean; numbers that are not finite stay
};
std::string_view name(Rounding rounding);

/// One step of Adam. With gradient d = scale g:
///
///   decoupled: p = p (1 - r wd)          else: d = d + wd p           with r = lr lr_scale
///   m = beta1 m + (1 - beta1) d          v = beta2 v + (1 - beta2) d^2
///   p = p - r (m correction[0]) / (sqrt(v) correction[1] + eps)
///
/// The corrections are 1 / (1 - beta1^t) and 1 / sqrt(1 - beta2^t) of step t, counted from 1. With
/// amsgrad, v_max = max(v_max, v) stands for v in the last line. With a master, w stands for p in
/// all lines, and p = w rounded to nearest.
///
/// Inputs   (I1) p: [...] f32 | bf16     (I2) g: f32[...]       (I3) m: [...] f32 | bf16
///          (I4) v: type of m            (I5) v_max: type of m  (I6) w: f32[...]
///          (I7) scale: f32[]            (I8) lr: f32[]         (I9) correction: f32[2]
///          (I10) seed: u64[]
/// Outputs  (O1) p   (O2) m   (O3) v   (O4) v_max   (O5) w, each tied to its input. Without amsgrad
///          (I5) and (O4) are absent, without a master (I6) and (O5)
/// Checks   (C1) p: f32 or bf16   (C2) g: f32, shape of p   (C3) m: f32 or bf16, shape of p
///          (C4) type(v) = type(v_max) = type(m)   (C5) scale, lr: f32[]; correction: f32[2];
///          seed: u64[]   (C6) beta1, beta2 in [0, 1); eps > 0   (C7) with a master, p: bf16 and
///          w: f32, shape of p
/// Numerics all in f32; each output is rounded once. Stochastic noise is a function of (seed, tag,
///          element), with tags tag, tag + 1, tag + 2 for p, m, v; v_max has that of v, so that it
///          is the largest v stored so far. With a master p has none
/// Source   Kingma and Ba 2015, arXiv:1412.6980; Loshchilov and Hutter 2019, arXiv:1711.05101;
/// Reddi
///          et al. 2018, arXiv:1904.09237; Micikevicius et al. 2018, arXiv:1710.03740
struct AdamUpdate {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  double lr_scale = 1.0;
  bool decoupled = true;
  bool amsgrad = false;
  bool master = false;
  Rounding rounding = Rounding::nearest;
  std::int64_t tag = 0;
  bool operator==(const AdamUpdate&) const = default;
};
/// How many inputs come before `scale`: all that are tensors, a master being the last.
std::size_t tensor_count(const AdamUpdate& op);
Traits traits(const AdamUpdate& op);
std::vector<Factor> factors(const AdamUpdate& op, Types inputs);
std::vector<TensorType> infer(const AdamUpdate& op, Types inputs);
void gradient(const AdamUpdate& op, GradientContext& context);
Cost cost(const AdamUpdate& op, Types inputs, Types outputs);
constexpr auto fields(const AdamUpdate*) {
  return std::tuple(
      field("beta1", &AdamUpdate::beta1), field("beta2", &AdamUpdate::beta2),
      field("eps", &AdamUpdate::eps), field("weight_decay", &AdamUpdate::weight_decay),
      field("lr_scale", &AdamUpdate::lr_scale), field("decoupled", &AdamUpdate::decoupled),
      field("amsgrad", &AdamUpdate::amsgrad), field("master", &AdamUpdate::master),
      field("rounding", &AdamUpdate::rounding), field("tag", &AdamUpdate::tag));
}

/// One step of gradient descent with momentum. With d = scale g + wd p:
///
///   b = momentum b + gain d       p = p - lr lr_scale (nesterov ? d + momentum b : b)
///
/// Without momentum (0) there is no b: p = p - lr lr_scale d. The gain is 1 at the first step, then
/// 1 - dampening. With a master, w stands for p as in AdamUpdate.
///
/// Inputs   (I1) p: [...] f32 | bf16     (I2) g: f32[...]    (I3) b: [...] f32 | bf16
///          (I4) w: f32[...]             (I5) scale: f32[]   (I6) lr: f32[]
///          (I7) gain: f32[]             (I8) seed: u64[]
/// Outputs  (O1) p   (O2) b   (O3) w, each tied to its input. Without momentum (I3) and (O2) are
///          absent, without a master (I4) and (O3)
/// Checks   (C1) p: f32 or bf16   (C2) g: f32, shape of p   (C3) b: f32 or bf16, shape of p
///          (C4) scale, lr, gain: f32[]; seed: u64[]   (C5) momentum >= 0   (C6) with a master,
///          p: bf16 and w: f32, shape of p
/// Numerics as AdamUpdate, with tags tag and tag + 1 for p and b
/// Source   Sutskever et al. 2013, "On the importance of initialization and momentum"
struct SgdUpdate {
  double momentum = 0.0;
  double weight_decay = 0.0;
  double lr_scale = 1.0;
  bool nesterov = false;
  bool master = false;
  Rounding rounding = Rounding::nearest;
  std::int64_t tag = 0;
  bool operator==(const SgdUpdate&) const = default;
};
std::size_t tensor_count(const SgdUpdate& op);
Traits traits(const SgdUpdate& op);
std::vector<Factor> factors(const SgdUpdate& op, Types inputs);
std::vector<TensorType> infer(const SgdUpdate& op, Types inputs);
void gradient(const SgdUpdate& op, GradientContext& context);
Cost cost(const SgdUpdate& op, Types inputs, Types outputs);
constexpr auto fields(const SgdUpdate*) {
  return std::tuple(field("momentum", &SgdUpdate::momentum),
                    field("weight_decay", &SgdUpdate::weight_decay),
                    field("lr_scale", &SgdUpdate::lr_scale),
                    field("nesterov", &SgdUpdate::nesterov), field("master", &SgdUpdate::master),
                    field("rounding", &SgdUpdate::rounding), field("tag", &SgdUpdate::tag));
}

}  // namespace parhelion::ir
