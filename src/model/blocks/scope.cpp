#include "model/blocks/scope.h"

#include <fmt/format.h>

#include <utility>

namespace parhelion::model {

Scope child(const Scope& scope, std::string_view name) {
  return {scope.builder, scope.kind,
          scope.path.empty() ? std::string(name) : fmt::format("{}.{}", scope.path, name)};
}

ir::ValueId parameter(const Scope& scope, std::string_view name, ir::Shape shape) {
  return scope.builder.parameter(child(scope, name).path, {scope.kind, std::move(shape)});
}

ir::ValueId add(const Scope& scope, ir::Op op, const std::vector<ir::ValueId>& inputs) {
  scope.builder.set_label(scope.path);
  return scope.builder.one(std::move(op), inputs);
}

}  // namespace parhelion::model
