#include "ir/autodiff/differentiate.h"

#include "base/error.h"
#include "ir/autodiff/gradient_context.h"

#include <algorithm>
#include <set>

namespace parhelion::ir {
namespace {

bool is_parameter(const Program& program, ValueId value) {
  const BufferId buffer = program.at(value).buffer;
  return buffer && program.at(buffer).role == Role::parameter && program.at(buffer).trainable;
}

/// For each value: does it depend on a trainable parameter.
std::vector<bool> values_that_depend_on_parameters(const Program& program) {
  std::vector<bool> depends(program.values.size() + 1, false);
  for (std::uint32_t i = 1; i <= program.values.size(); ++i)
    depends[i] = is_parameter(program, {i});
  for (const OpNode& node : program.ops) {
    const bool any = std::ranges::any_of(
        node.inputs, [&](const Operand& in) { return depends[in.value.index]; });
    for (const ValueId output : node.outputs) depends[output.index] = any;
  }
  return depends;
}

/// The gradients found so far, and the rule context of the op at hand.
class Differentiation final : public GradientContext {
 public:
  explicit Differentiation(Program& program)
      : program_(program),
        builder_(program),
        depends_(values_that_depend_on_parameters(program)),
        gradient_(program.values.size() + 1) {}

  bool depends(ValueId value) const {
    return value.index < depends_.size() && depends_[value.index];
  }

  void seed(ValueId loss) {
    enter(program_.at(program_.at(loss).producer));
    builder_.set_phase(Phase::input_grad);
    gradient_[loss.index] = builder_.one(Fill{1.0, Kind::f32, {}}, {});
  }

  void differentiate_op(OpId id) {
    const OpNode node = program_.at(id);  // a copy: rules append to the program
    if (!gradient_[node.outputs.front().index]) return;
    for (std::size_t i = 1; i < node.outputs.size(); ++i) {
      ensure(!gradient_[node.outputs[i].index], ErrorKind::invalid,
             "{}: the loss depends on output {}, which has no gradient", traits(node.op).name,
             i + 1);
    }
    const bool needed =
        std::ranges::any_of(node.inputs, [&](const Operand& in) { return depends(in.value); });
    if (!needed) return;
    enter(node);
    const std::size_t first = program_.ops.size();
    gradient(node.op, *this);
    label_phases(first);
  }

  ValueId input(std::size_t index) const override { return node_.inputs[index].value; }
  ValueId output(std::size_t index) const override { return node_.outputs[index]; }
  ValueId output_gradient(std::size_t index) const override {
    return gradient_[output(index).index];
  }
  bool wants(std::size_t index) const override { return depends(input(index)); }

  void give(std::size_t index, ValueId gradient) override {
    ensure(!is_parameter(program_, input(index)), ErrorKind::invalid,
           "{}: input {} is the parameter '{}', expected an activation, since its gradient has no "
           "f32 sum",
           traits(node_.op).name, index + 1, parameter_name(index));
    ValueId& sum = gradient_[input(index).index];
    sum = sum ? builder_.one(Binary{BinaryFunction::add}, {sum, gradient}) : gradient;
    given_.insert(sum);
  }

  ValueId chain(std::size_t index) override {
    const Value& value = program_.at(input(index));
    if (!is_parameter(program_, input(index)))
      return builder_.one(Fill{0.0, Kind::f32, value.type.shape}, {});
    return builder_.state(gradient_name(program_.at(value.buffer).name),
                          TensorType(Kind::f32, value.type.shape), Lifetime::step);
  }

  void advance(std::size_t index, ValueId next) override {
    if (is_parameter(program_, input(index)) || !wants(index)) return;
    const Kind kind = program_.at(input(index)).type.kind();
    give(index, kind == Kind::f32 ? next : builder_.one(Cast{kind}, {next}));
  }

  std::vector<ValueId> add(Op op, const std::vector<ValueId>& inputs) override {
    return builder_.add(std::move(op), inputs);
  }
  const TensorType& type(ValueId value) const override { return builder_.type(value); }

 private:
  void enter(const OpNode& node) {
    node_ = node;
    given_.clear();
    builder_.set_layer(node.layer);
    builder_.set_label(program_.labels[node.label]);
  }

  std::string parameter_name(std::size_t index) const {
    const BufferId buffer = program_.at(input(index)).buffer;
    return buffer ? program_.at(buffer).name : std::string();
  }

  /// weight_grad where every output is a version of a buffer or is read by weight_grad ops of this
  /// rule alone.
  void label_phases(std::size_t first) {
    std::set<ValueId> read_by_input_grad = given_;
    for (std::size_t i = program_.ops.size(); i-- > first;) {
      OpNode& node = program_.ops[i];
      const bool weight_only = std::ranges::none_of(node.outputs, [&](ValueId output) {
        return !program_.at(output).buffer && read_by_input_grad.contains(output);
      });
      node.phase = weight_only ? Phase::weight_grad : Phase::input_grad;
      if (weight_only) continue;
      for (const Operand& input : node.inputs) read_by_input_grad.insert(input.value);
    }
  }

  Program& program_;
  Builder builder_;
  std::vector<bool> depends_;
  std::vector<ValueId> gradient_;  // by forward value
  OpNode node_;
  std::set<ValueId> given_;
};

}  // namespace

std::string gradient_name(std::string_view parameter) {
  return fmt::format("{}.gradient", parameter);
}

void differentiate(Program& program, ValueId loss) {
  ensure(program.at(loss).type == TensorType(Kind::f32, {}), ErrorKind::invalid,
         "differentiate: loss is {}, expected f32[]", to_string(program.at(loss).type));
  Differentiation differentiation(program);
  ensure(differentiation.depends(loss), ErrorKind::invalid,
         "differentiate: loss depends on no parameter");
  const std::uint32_t last = program.at(loss).producer.index;
  differentiation.seed(loss);
  for (std::uint32_t i = last; i >= 1; --i) differentiation.differentiate_op({i});
}

}  // namespace parhelion::ir
