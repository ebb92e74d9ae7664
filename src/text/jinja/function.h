#pragma once

#include "text/jinja/value.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace parhelion::text::jinja {

class Renderer;
struct MacroDefinition;

/// The values of a call's arguments.
class Arguments {
 public:
  Values positional;
  std::vector<std::pair<std::string, Value>> named;

  /// The argument at `position` or of this name, or nothing. Positions are as in the call.
  std::optional<Value> find(std::size_t position, std::string_view name) const;
  /// The same, or `absent`.
  Value get(std::size_t position, std::string_view name, Value absent) const;
};

/// Names and values, with those of the enclosing scope behind them.
struct Scope {
  std::map<std::string, Value, std::less<>> values;
  std::shared_ptr<Scope> parent;
};

/// A function that the engine has built in.
struct Builtin {
  std::string_view name;
  Value (*call)(Renderer& renderer, const Arguments& arguments) = nullptr;
};
/// A method of a value, bound to it.
struct BoundMethod {
  Value self;
  std::string name;
};
/// A macro, bound to the scope that holds it.
struct BoundMacro {
  std::shared_ptr<const MacroDefinition> macro;
  std::weak_ptr<Scope> scope;
};
struct Function {
  std::variant<Builtin, BoundMethod, BoundMacro> target;
  std::int32_t nesting = 1;  ///< that of what it is bound to
};

}  // namespace parhelion::text::jinja
