#include "train/optim/update_program.h"

#include "base/error.h"
#include "ir/autodiff/differentiate.h"
#include "ir/builder.h"
#include "train/optim/groups.h"

#include <set>
#include <vector>

namespace parhelion::train {
namespace {

using ir::ValueId;

constexpr std::int64_t kTagsPerParameter = 4;  // an update draws with up to three tags

ir::TensorType number_type() { return {ir::Kind::f32, {}}; }

/// Operands that all updates of a step share.
struct StepOperands {
  ValueId scale;
  ValueId lr;
  ValueId seed;
  ValueId correction = {};  // of Adam
  ValueId gain = {};        // of SGD
};

/// Buffers that an op looks rows up in, or that make logits.
std::set<ir::BufferId> embedding_buffers(const ir::Program& program) {
  std::set<ir::BufferId> result;
  for (const ir::OpNode& node : program.ops) {
    const bool reads_table = std::holds_alternative<ir::Embedding>(node.op) ||
                             std::holds_alternative<ir::LinearCrossEntropy>(node.op);
    if (reads_table) result.insert(program.at(node.inputs[1].value).buffer);
  }
  return result;
}

std::vector<TrainedParameter> trained_parameters(const ir::Program& program) {
  const std::set<ir::BufferId> embeddings = embedding_buffers(program);
  std::vector<TrainedParameter> result;
  for (std::uint32_t i = 1; i <= program.buffers.size(); ++i) {
    const ir::Buffer& buffer = program.at(ir::BufferId{i});
    if (buffer.role != ir::Role::parameter || !buffer.trainable) continue;
    result.push_back({.name = buffer.name,
                      .type = buffer.type,
                      .is_embedding = embeddings.contains(ir::BufferId{i})});
  }
  ensure(!result.empty(), ErrorKind::invalid, "optimizer: the program has no trainable parameter");
  return result;
}

/// Appends the update phase of one program.
class UpdateBuilder {
 public:
  UpdateBuilder(ir::Program& program, const OptimizerSettings& settings, ir::Kind kind)
      : builder_(program),
        settings_(settings),
        rounding_((kind == ir::Kind::bf16 && !settings.master_weights) ||
                          settings.moments == NumberFormat::bf16
                      ? ir::Rounding::stochastic
                      : ir::Rounding::nearest),
        parameters_(trained_parameters(program)),
        scales_(resolve_groups(settings, parameters_)) {}

  void append(ValueId total_loss) {
    add_up(total_loss);
    builder_.set_phase(ir::Phase::update);
    builder_.set_label("optimizer");
    const StepOperands operands = decide();
    for (std::size_t i = 0; i < parameters_.size(); ++i) update(i, operands);
    builder_.set_gate({});
    builder_.set_label("optimizer");
    for (const TrainedParameter& parameter : parameters_) clear(gradient(parameter));
    clear(step_state("step.loss_sum"));
    clear(step_state("step.weight"));
  }

 private:
  void add_up(ValueId total_loss) {
    builder_.set_phase(ir::Phase::forward);
    builder_.set_label("total_loss");
    const ValueId weight =
        builder_.one(ir::Reduce{ir::ReduceFunction::sum},
                     {builder_.input("loss_weight", {ir::Kind::f32, {ir::Symbol::tokens}})});
    builder_.one(ir::Accumulate{}, {total_loss, step_state("step.loss_sum")});
    builder_.one(ir::Accumulate{}, {weight, step_state("step.weight")});
  }

  StepOperands decide() {
    const ValueId sum = squared_norm();
    const ValueId weight = step_state("step.weight");
    const std::vector<ValueId> step = builder_.add(ir::StepScale{.max_norm = settings_.max_norm},
                                                   {step_state("step.loss_sum"), weight, sum});
    builder_.output("step_loss", step[0]);
    builder_.output("step_norm", step[1]);
    builder_.output("step_weight", builder_.one(ir::Scale{1.0}, {weight}));
    builder_.output("step_applied", step[3]);
    builder_.set_gate(step[3]);
    StepOperands operands{.scale = step[2],
                          .lr = step_input("lr", number_type()),
                          .seed = step_input("rounding_seed", {ir::Kind::u64, {}})};
    if (settings_.kind == OptimizerKind::sgd) {
      operands.gain = step_input("momentum_gain", number_type());
    } else {
      operands.correction = step_input("adam_correction", {ir::Kind::f32, {2}});
    }
    return operands;
  }

  /// Of all gradients. The norms stand together, so that an executor may run them as one.
  ValueId squared_norm() {
    std::vector<ValueId> squares;
    squares.reserve(parameters_.size());
    for (const TrainedParameter& parameter : parameters_)
      squares.push_back(builder_.one(ir::SquaredNorm{}, {gradient(parameter)}));
    ValueId sum = squares.front();
    for (std::size_t i = 1; i < squares.size(); ++i)
      sum = builder_.one(ir::Binary{ir::BinaryFunction::add}, {sum, squares[i]});
    return sum;
  }

  void update(std::size_t index, const StepOperands& operands) {
    builder_.set_label(parameters_[index].name);
    if (settings_.kind == OptimizerKind::sgd) {
      update_by_momentum(index, operands);
    } else {
      update_by_moments(index, operands);
    }
  }

  void update_by_moments(std::size_t index, const StepOperands& operands) {
    const TrainedParameter& parameter = parameters_[index];
    const bool has_master = is_mastered(parameter);
    const ir::AdamUpdate op{.beta1 = settings_.beta1,
                            .beta2 = settings_.beta2,
                            .eps = settings_.eps,
                            .weight_decay = scales_[index].weight_decay,
                            .lr_scale = scales_[index].lr_scale,
                            .decoupled = settings_.kind == OptimizerKind::adamw,
                            .amsgrad = settings_.amsgrad,
                            .master = has_master,
                            .rounding = rounding_,
                            .tag = tag(index)};
    std::vector<ValueId> inputs = {builder_.parameter(parameter.name, parameter.type),
                                   gradient(parameter),
                                   moment(first_moment_name(parameter.name), parameter),
                                   moment(second_moment_name(parameter.name), parameter)};
    if (settings_.amsgrad)
      inputs.push_back(moment(largest_second_moment_name(parameter.name), parameter));
    if (has_master) inputs.push_back(master(parameter));
    for (const ValueId each : {operands.scale, operands.lr, operands.correction, operands.seed})
      inputs.push_back(each);
    builder_.add(op, inputs);
  }

  void update_by_momentum(std::size_t index, const StepOperands& operands) {
    const TrainedParameter& parameter = parameters_[index];
    std::vector<ValueId> inputs = {builder_.parameter(parameter.name, parameter.type),
                                   gradient(parameter)};
    if (settings_.momentum != 0) inputs.push_back(moment(momentum_name(parameter.name), parameter));
    const bool has_master = is_mastered(parameter);
    if (has_master) inputs.push_back(master(parameter));
    for (const ValueId each : {operands.scale, operands.lr, operands.gain, operands.seed})
      inputs.push_back(each);
    builder_.add(ir::SgdUpdate{.momentum = settings_.momentum,
                               .weight_decay = scales_[index].weight_decay,
                               .lr_scale = scales_[index].lr_scale,
                               .nesterov = settings_.nesterov,
                               .master = has_master,
                               .rounding = rounding_,
                               .tag = tag(index)},
                 inputs);
  }

  void clear(ValueId sum) { builder_.one(ir::Clear{}, {sum}); }
  ValueId gradient(const TrainedParameter& parameter) {
    return builder_.state(ir::gradient_name(parameter.name), {ir::Kind::f32, parameter.type.shape},
                          ir::Lifetime::step);
  }
  ValueId moment(const std::string& name, const TrainedParameter& parameter) {
    return builder_.state(name, {train::kind(settings_.moments), parameter.type.shape});
  }
  bool is_mastered(const TrainedParameter& parameter) const {
    return settings_.master_weights && parameter.type.kind() == ir::Kind::bf16;
  }
  ValueId master(const TrainedParameter& parameter) {
    return builder_.state(master_name(parameter.name), {ir::Kind::f32, parameter.type.shape});
  }
  ValueId step_state(std::string_view name) {
    return builder_.state(name, number_type(), ir::Lifetime::step);
  }
  ValueId step_input(std::string_view name, const ir::TensorType& type) {
    return builder_.input(name, type, ir::Lifetime::step);
  }
  static std::int64_t tag(std::size_t index) {
    return static_cast<std::int64_t>(index) * kTagsPerParameter;
  }

  ir::Builder builder_;
  const OptimizerSettings& settings_;
  ir::Rounding rounding_;
  std::vector<TrainedParameter> parameters_;
  std::vector<UpdateScale> scales_;
};

}  // namespace

std::string first_moment_name(std::string_view parameter) {
  return fmt::format("{}.first_moment", parameter);
}
std::string second_moment_name(std::string_view parameter) {
  return fmt::format("{}.second_moment", parameter);
}
std::string largest_second_moment_name(std::string_view parameter) {
  return fmt::format("{}.largest_second_moment", parameter);
}
std::string master_name(std::string_view parameter) { return fmt::format("{}.master", parameter); }
std::string momentum_name(std::string_view parameter) {
  return fmt::format("{}.momentum", parameter);
}

void append_update(ir::Program& program, ir::ValueId total_loss, const OptimizerSettings& settings,
                   ir::Kind kind) {
  UpdateBuilder(program, settings, kind).append(total_loss);
}

}  // namespace parhelion::train
