#include "text/jinja/facts.h"

#include "base/error.h"
#include "text/jinja/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

namespace parhelion::text::jinja {
namespace {

using Names = std::set<std::string, std::less<>>;

constexpr std::string_view kFunctions[] = {"range", "namespace", "dict", "raise_exception",
                                           "strftime_now"};
/// Names to which Jinja itself gives a meaning.
constexpr std::string_view kLackingNames[] = {"cycler", "joiner", "kwargs", "lipsum",
                                              "self",   "super",  "varargs"};

template <class List>
bool is_listed(const List& list, std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

Names common_names(const Names& a, const Names& b) {
  Names both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  return both;
}

/// Whether nothing behind `block` runs, as it raises an exception.
bool always_raises(const Block& block) {
  return std::any_of(block.begin(), block.end(), [](const Statement& statement) {
    const auto* print = std::get_if<PrintStatement>(&statement.node);
    if (print == nullptr) return false;
    const auto* call = std::get_if<CallExpression>(&print->value->node);
    if (call == nullptr) return false;
    const auto* name = std::get_if<NameExpression>(&call->callee->node);
    return name != nullptr && name->name == "raise_exception";
  });
}

/// Walks through a template in the order in which it runs, with the names that are surely set.
class FactCollector {
 public:
  TemplateFacts collect(const Block& block) {
    Names bound;
    walk(block, bound);
    // A macro sees what the template sets up to its call, which may stand anywhere.
    for (std::size_t i = 0; i < macros_.size(); ++i) {
      const LateMacro late = macros_[i];
      Names names = late.bound;
      names.insert(top_names_.begin(), top_names_.end());
      walk_macro(*late.macro, std::move(names));
    }
    return {list(statements_), list(filters_),   list(tests_),          list(functions_),
            list(methods_),    list(variables_), list(unknown_filters_)};
  }

 private:
  struct LateMacro {
    const MacroDefinition* macro = nullptr;
    Names bound;
  };

  static std::vector<std::string> list(const Names& names) { return {names.begin(), names.end()}; }

  void walk(const Block& block, Names& bound) {
    for (const Statement& statement : block) {
      line_ = statement.line;
      std::visit([&](const auto& node) { walk(node, bound); }, statement.node);
    }
  }
  void walk_inner(const Block& block, Names bound) {
    ++depth_;
    walk(block, bound);
    --depth_;
  }

  void bind(const std::string& name, Names& bound) {
    bound.insert(name);
    if (depth_ == 0) top_names_.insert(name);
  }

  void walk(const TextStatement&, Names&) {}
  void walk(const PrintStatement& node, Names& bound) { read(node.value, bound); }
  void walk(const BreakStatement&, Names&) { statements_.insert("break"); }
  void walk(const ContinueStatement&, Names&) { statements_.insert("continue"); }

  void walk(const IfStatement& node, Names& bound) {
    statements_.insert("if");
    std::vector<Names> ends;  // what each way through sets
    const auto walk_branch = [&](const Block& block) {
      Names end = bound;
      walk(block, end);
      if (!always_raises(block)) ends.push_back(std::move(end));
    };
    for (const auto& [condition, block] : node.branches) {
      read(condition, bound);
      walk_branch(block);
    }
    walk_branch(node.otherwise);
    if (ends.empty()) return;
    bound = ends.front();
    for (const Names& end : ends) bound = common_names(bound, end);
  }

  void walk(const ForStatement& node, Names& bound) {
    statements_.insert("for");
    read(node.items, bound);
    Names inner = bound;
    inner.insert(node.targets.begin(), node.targets.end());
    read(node.condition, inner);
    inner.insert("loop");
    walk_inner(node.body, std::move(inner));
    walk_inner(node.otherwise, bound);
  }

  void walk(const SetStatement& node, Names& bound) {
    statements_.insert("set");
    read(node.value, bound);
    if (!node.attribute.empty()) return read_name(node.targets.front(), bound);
    for (const std::string& target : node.targets) bind(target, bound);
  }

  void walk(const MacroStatement& node, Names& bound) {
    statements_.insert("macro");
    bind(node.macro->name, bound);
    macros_.push_back({node.macro.get(), bound});
  }

  void walk_macro(const MacroDefinition& macro, Names bound) {
    bound.insert("caller");
    bound.insert(macro.parameters.begin(), macro.parameters.end());
    for (const ExpressionRef& value : macro.defaults) read(value, bound);
    walk_inner(macro.body, std::move(bound));
  }

  void walk(const CallStatement& node, Names& bound) {
    statements_.insert("call");
    read(node.callee, bound);
    read(node.arguments, bound);
    walk_macro(*node.caller, bound);
  }

  void read(const ExpressionRef& expression, const Names& bound) {
    if (expression == nullptr) return;
    line_ = expression->line;
    std::visit([&](const auto& node) { read(node, bound); }, expression->node);
  }
  void read(const std::vector<ExpressionRef>& expressions, const Names& bound) {
    for (const ExpressionRef& expression : expressions) read(expression, bound);
  }
  void read(const ArgumentList& arguments, const Names& bound) {
    read(arguments.positional, bound);
    for (const auto& [name, value] : arguments.named) read(value, bound);
  }

  void read(const LiteralExpression&, const Names&) {}
  void read(const NameExpression& node, const Names& bound) { read_name(node.name, bound); }
  void read(const ListExpression& node, const Names& bound) { read(node.items, bound); }
  void read(const DictExpression& node, const Names& bound) {
    for (const auto& [key, value] : node.items) {
      read(key, bound);
      read(value, bound);
    }
  }
  void read(const AttributeExpression& node, const Names& bound) {
    const auto* name = std::get_if<NameExpression>(&node.object->node);
    const bool is_loop = name != nullptr && name->name == "loop" && bound.contains("loop");
    if (is_loop && (node.name == "cycle" || node.name == "changed"))
      refuse("'loop." + node.name + "'");
    read(node.object, bound);
  }
  void read(const ItemExpression& node, const Names& bound) {
    read(node.object, bound);
    read(node.index, bound);
  }
  void read(const SliceExpression& node, const Names& bound) {
    read(node.object, bound);
    read(node.start, bound);
    read(node.stop, bound);
    read(node.step, bound);
  }
  void read(const CallExpression& node, const Names& bound) {
    if (const auto* member = std::get_if<AttributeExpression>(&node.callee->node)) {
      if (is_lacking_method(member->name)) refuse("method '" + member->name + "'");
      methods_.insert(member->name);
    }
    read(node.callee, bound);
    read(node.arguments, bound);
  }
  void read(const FilterExpression& node, const Names& bound) {
    (node.filter != nullptr ? filters_ : unknown_filters_).insert(node.name);
    read(node.input, bound);
    read(node.arguments, bound);
  }
  void read(const TestExpression& node, const Names& bound) {
    tests_.insert(node.name);
    read(node.input, bound);
    read(node.arguments, bound);
  }
  void read(const UnaryExpression& node, const Names& bound) { read(node.operand, bound); }
  void read(const BinaryExpression& node, const Names& bound) {
    read(node.left, bound);
    read(node.right, bound);
  }
  void read(const CompareExpression& node, const Names& bound) {
    read(node.first, bound);
    for (const auto& [comparison, value] : node.links) read(value, bound);
  }
  void read(const ConditionalExpression& node, const Names& bound) {
    read(node.condition, bound);
    read(node.if_true, bound);
    read(node.if_false, bound);
  }
  void read(const CaptureExpression& node, const Names& bound) { walk_inner(*node.body, bound); }

  void read_name(const std::string& name, const Names& bound) {
    if (bound.contains(name) || name == "loop" || name == "caller") return;
    if (is_listed(kLackingNames, name)) refuse("'" + name + "'");
    (is_listed(kFunctions, name) ? functions_ : variables_).insert(name);
  }

  [[noreturn]] void refuse(std::string_view what) const {
    fail(ErrorKind::unsupported, "chat template line {}: {} is not supported", line_, what);
  }

  Names statements_, filters_, tests_, functions_, methods_, variables_, unknown_filters_;
  Names top_names_;  // set outside loops and macros
  std::vector<LateMacro> macros_;
  int depth_ = 0;
  int line_ = 1;
};

}  // namespace

TemplateFacts collect_facts(const Block& block) { return FactCollector().collect(block); }

}  // namespace parhelion::text::jinja
