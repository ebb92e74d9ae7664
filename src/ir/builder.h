#pragma once

#include "ir/program.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::ir {

/// Appends to a program. Types are inferred and checked as ops are added.
class Builder {
 public:
  explicit Builder(Program& program);

  /// The content of a named buffer. Asking again for a name gives its newest version.
  ///
  /// Errors: invalid if the name stands for a buffer of another type or role.
  ValueId input(std::string_view name, TensorType type, Lifetime lifetime = Lifetime::microbatch);
  ValueId parameter(std::string_view name, TensorType type);
  ValueId state(std::string_view name, TensorType type, Lifetime lifetime = Lifetime::process);
  ValueId constant(std::string_view name, Op init);

  /// Appends an op and gives its outputs. Outputs tied to inputs become their buffers' next
  /// versions.
  ///
  /// Errors: invalid with the check's label if a check of the family fails.
  std::vector<ValueId> add(Op op, const std::vector<ValueId>& inputs);

  /// The same for an op with one output.
  ValueId one(Op op, const std::vector<ValueId>& inputs);

  /// Lets the host read `value`, an activation, as the buffer `name`.
  void output(std::string_view name, ValueId value);

  /// Where following ops belong.
  void set_label(std::string_view label);
  void set_layer(std::int32_t layer) { layer_ = layer; }
  void set_phase(Phase phase) { phase_ = phase; }
  /// A bool8[] that decides whether following ops take effect; none: they always do.
  void set_gate(ValueId gate) { gate_ = gate; }

  const Program& program() const { return program_; }
  const TensorType& type(ValueId value) const { return program_.at(value).type; }

 private:
  ValueId buffer(Buffer buffer);

  Program& program_;
  std::map<std::string, ValueId, std::less<>> newest_;  // per buffer name
  std::map<std::string, std::uint32_t, std::less<>> labels_;
  std::uint32_t label_ = 0;
  std::int32_t layer_ = 0;
  Phase phase_ = Phase::forward;
  ValueId gate_ = {};
};

}  // namespace parhelion::ir
