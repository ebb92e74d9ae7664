#include "base/error.h"
#include "text/jinja/filters.h"
#include "text/jinja/runtime.h"
#include "text/jinja/tests.h"

#include <utility>

namespace parhelion::text::jinja {
namespace {

/// Restores a counter when a scope ends.
class DepthGuard {
 public:
  explicit DepthGuard(std::int64_t& depth) : depth_(depth) { ++depth_; }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  std::int64_t& depth_;
};

}  // namespace

std::optional<Value> Arguments::find(std::size_t position, std::string_view name) const {
  if (position < positional.size()) return positional[position];
  for (const auto& [known, value] : named) {
    if (known == name) return value;
  }
  return std::nullopt;
}

Value Arguments::get(std::size_t position, std::string_view name, Value absent) const {
  std::optional<Value> value = find(position, name);
  return value ? std::move(*value) : std::move(absent);
}

Value Renderer::evaluate(const Expression& expression) {
  const DepthGuard guard(depth_);
  line_ = expression.line;
  if (depth_ > limits_.depth) fail_here("expressions are nested too deep");
  charge(0);
  return std::visit([this](const auto& node) { return evaluate(node); }, expression.node);
}

Value Renderer::evaluate(const LiteralExpression& node) { return node.value; }

Value Renderer::evaluate(const NameExpression& node) {
  for (const Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get()) {
    const auto found = scope->values.find(node.name);
    if (found != scope->values.end()) return found->second;
  }
  return Undefined{"'" + node.name + "' is undefined"};
}

Value Renderer::evaluate(const ListExpression& node) {
  Values items;
  for (const ExpressionRef& item : node.items) items.push_back(evaluate(*item));
  return node.is_tuple ? make_tuple(std::move(items)) : make_list(std::move(items));
}

Value Renderer::evaluate(const DictExpression& node) {
  DictData dict;
  for (const auto& [key, value] : node.items) {
    const Value name = evaluate(*key);
    if (name.items() != nullptr || name.dict() != nullptr) {
      fail_unsupported("a key of type " + std::string(type_name(name)));
    }
    dict.set(name, evaluate(*value));
  }
  return make_dict(std::move(dict));
}

Value Renderer::evaluate(const AttributeExpression& node) {
  return get_attribute(*this, evaluate(*node.object), node.name);
}

Value Renderer::evaluate(const ItemExpression& node) {
  const Value object = evaluate(*node.object);
  return get_item(*this, object, evaluate(*node.index));
}

Value Renderer::evaluate(const SliceExpression& node) {
  const auto part = [this](const ExpressionRef& expression) {
    return expression == nullptr ? Value(None{}) : evaluate(*expression);
  };
  const Value object = evaluate(*node.object);
  const Value start = part(node.start);
  const Value stop = part(node.stop);
  return get_slice(*this, object, start, stop, part(node.step));
}

Arguments Renderer::evaluate(const ArgumentList& list) {
  Arguments arguments;
  for (const ExpressionRef& item : list.positional) {
    arguments.positional.push_back(evaluate(*item));
  }
  for (const auto& [name, value] : list.named) {
    arguments.named.emplace_back(name, evaluate(*value));
  }
  return arguments;
}

Value Renderer::evaluate(const CallExpression& node) {
  const Value function = evaluate(*node.callee);
  const Arguments arguments = evaluate(node.arguments);
  return call(function, arguments);
}

Value Renderer::evaluate(const FilterExpression& node) {
  if (node.filter == nullptr) fail_here("No filter named '" + node.name + "' found.");
  const Value input = evaluate(*node.input);
  return node.filter->apply(*this, input, evaluate(node.arguments));
}

Value Renderer::evaluate(const TestExpression& node) {
  const Value value = evaluate(*node.input);
  Values arguments;
  for (const ExpressionRef& argument : node.arguments) arguments.push_back(evaluate(*argument));
  return passes_test(*this, node.name, value, arguments);
}

Value Renderer::evaluate(const UnaryExpression& node) {
  const Value value = evaluate(*node.operand);
  if (node.op == UnaryOperator::logical_not) return !is_true(value);
  return apply_sign(*this, node.op, value);
}

Value Renderer::evaluate(const BinaryExpression& node) {
  Value left = evaluate(*node.left);
  if (node.op == BinaryOperator::logical_and) return is_true(left) ? evaluate(*node.right) : left;
  if (node.op == BinaryOperator::logical_or) return is_true(left) ? left : evaluate(*node.right);
  return apply_binary(*this, node.op, left, evaluate(*node.right));
}

Value Renderer::evaluate(const CompareExpression& node) {
  const auto holds = [this](Comparison comparison, const Value& a, const Value& b) {
    switch (comparison) {
      case Comparison::equal:
        return is_equal(a, b);
      case Comparison::not_equal:
        return !is_equal(a, b);
      case Comparison::less:
        return is_less(*this, a, b);
      case Comparison::less_equal:
        return !is_less(*this, b, a);
      case Comparison::greater:
        return is_less(*this, b, a);
      case Comparison::greater_equal:
        return !is_less(*this, a, b);
      case Comparison::contained:
        return is_contained(*this, a, b);
      case Comparison::not_contained:
        return !is_contained(*this, a, b);
    }
    return false;
  };
  Value left = evaluate(*node.first);
  for (const auto& [comparison, expression] : node.links) {
    Value right = evaluate(*expression);
    if (!holds(comparison, left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Renderer::evaluate(const ConditionalExpression& node) {
  if (is_true(evaluate(*node.condition))) return evaluate(*node.if_true);
  if (node.if_false != nullptr) return evaluate(*node.if_false);
  return Undefined{"the inline if-expression evaluated to false and no else section was defined"};
}

Value Renderer::evaluate(const CaptureExpression& node) {
  std::shared_ptr<Scope> outer = scope_;
  scope_ = std::make_shared<Scope>();
  scope_->parent = outer;
  std::string text = capture(*node.body);
  scope_ = std::move(outer);
  return text;
}

Value Renderer::call(const Value& function, const Arguments& arguments) {
  if (const auto* undefined = function.get<Undefined>()) fail_here(undefined->what);
  const auto* target = function.get<FunctionRef>();
  if (target == nullptr) {
    fail_here(fmt::format("'{}' object is not callable", type_name(function)));
  }
  if (const auto* builtin = std::get_if<Builtin>(&(*target)->target)) {
    return builtin->call(*this, arguments);
  }
  if (const auto* method = std::get_if<BoundMethod>(&(*target)->target)) {
    return call_method(*this, *method, arguments);
  }
  return call_macro(std::get<BoundMacro>((*target)->target), arguments);
}

Value Renderer::call_macro(const BoundMacro& bound, const Arguments& arguments) {
  const DepthGuard guard(depth_);
  const MacroDefinition& macro = *bound.macro;
  const std::size_t count = macro.parameters.size();
  if (depth_ > limits_.depth) fail_here("macros are nested too deep");
  if (arguments.positional.size() > count)
    fail_here("macro '" + macro.name + "' has too many arguments");
  auto scope = std::make_shared<Scope>();
  scope->parent = bound.scope.lock();
  std::shared_ptr<Scope> outer = std::exchange(scope_, scope);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& name = macro.parameters[i];
    const std::size_t required = count - macro.defaults.size();
    std::optional<Value> value = arguments.find(i, name);
    if (!value && i >= required) value = evaluate(*macro.defaults[i - required]);
    if (!value) value = Undefined{"parameter '" + name + "' was not provided"};
    scope->values[name] = std::move(*value);
  }
  for (const auto& [name, value] : arguments.named) {
    if (name == "caller") scope->values.insert_or_assign(name, value);
    if (!scope->values.contains(name)) {
      fail_here("macro '" + macro.name + "' takes no argument '" + name + "'");
    }
  }
  Value result = capture(macro.body);
  scope_ = std::move(outer);
  return result;
}

}  // namespace parhelion::text::jinja
