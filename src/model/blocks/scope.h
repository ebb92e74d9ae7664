#pragma once

#include "ir/builder.h"

#include <string>
#include <string_view>

namespace parhelion::model {

/// Where a block is built: the program, the kind of its weights and activations, and its module
/// path, which prefixes parameter names and labels ops.
struct Scope {
  ir::Builder& builder;
  ir::Kind kind = ir::Kind::f32;
  std::string path = {};
};

/// The scope of the submodule `name`.
Scope child(const Scope& scope, std::string_view name);

/// The parameter `name` of this module, of the scope's kind.
ir::ValueId parameter(const Scope& scope, std::string_view name, ir::Shape shape);

/// Appends an op with one output, labelled with the module's path.
ir::ValueId add(const Scope& scope, ir::Op op, const std::vector<ir::ValueId>& inputs);

}  // namespace parhelion::model
