#pragma once

#include "text/chat_template.h"
#include "text/jinja/function.h"
#include "text/jinja/syntax.h"
#include "text/jinja/value.h"

#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace parhelion::text::jinja {

/// Runs a template once.
class Renderer {
 public:
  Renderer(const TemplateLimits& limits, std::optional<std::tm> now);
  ~Renderer();
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  void set(std::string_view name, Value value);
  std::string render(const Block& block);

  Value evaluate(const Expression& expression);
  /// Counts work against the limit of steps: a step for each value or 32 bytes made.
  ///
  /// Errors: invalid if the limit is passed.
  void charge(std::size_t bytes);
  /// Counts the work of a walk through all of `value`.
  void charge_walk(const Value& value);
  /// What `str(value)` gives, as counted work.
  std::string text_of(const Value& value);
  /// Whether a == b, as counted work.
  bool is_equal(const Value& a, const Value& b);
  /// Throws an error of kind invalid that names the line which runs.
  [[noreturn]] void fail_here(std::string_view message) const;
  [[noreturn]] void fail_unsupported(std::string_view what) const;

  NamespaceRef make_namespace();
  const std::optional<std::tm>& now() const { return now_; }
  int line() const { return line_; }

  /// Calls a function value.
  Value call(const Value& function, const Arguments& arguments);

 private:
  enum class Flow : std::uint8_t { next, leave_loop, next_item };

  Flow run(const Block& block);
  Flow run(const TextStatement& statement);
  Flow run(const PrintStatement& statement);
  Flow run(const IfStatement& statement);
  Flow run(const ForStatement& statement);
  Flow run(const SetStatement& statement);
  Flow run(const MacroStatement& statement);
  Flow run(const CallStatement& statement);
  Flow run(const BreakStatement& statement);
  Flow run(const ContinueStatement& statement);
  Values collect_items(const ForStatement& statement);
  void bind_targets(const std::vector<std::string>& targets, const Value& value);
  void set_attribute(const SetStatement& statement, Value value);
  void write(std::string_view text);
  std::string capture(const Block& block);

  Value evaluate(const LiteralExpression& node);
  Value evaluate(const NameExpression& node);
  Value evaluate(const ListExpression& node);
  Value evaluate(const DictExpression& node);
  Value evaluate(const AttributeExpression& node);
  Value evaluate(const ItemExpression& node);
  Value evaluate(const SliceExpression& node);
  Value evaluate(const CallExpression& node);
  Value evaluate(const FilterExpression& node);
  Value evaluate(const TestExpression& node);
  Value evaluate(const UnaryExpression& node);
  Value evaluate(const BinaryExpression& node);
  Value evaluate(const CompareExpression& node);
  Value evaluate(const ConditionalExpression& node);
  Value evaluate(const CaptureExpression& node);
  Arguments evaluate(const ArgumentList& list);
  Value call_macro(const BoundMacro& macro, const Arguments& arguments);

  TemplateLimits limits_;
  std::optional<std::tm> now_;
  std::int64_t steps_left_ = 0;
  std::int64_t depth_ = 0;
  int line_ = 1;
  std::string out_;
  std::shared_ptr<Scope> scope_;
  std::vector<NamespaceRef> namespaces_;  // emptied at the end: they may hold each other
};

/// The member `name` of a value, as `value.name`.
Value get_attribute(Renderer& renderer, const Value& object, const std::string& name);
/// The item of a value, as `value[index]`.
Value get_item(Renderer& renderer, const Value& object, const Value& index);
/// What `value[start:stop:step]` gives; undefined parts are absent.
Value get_slice(Renderer& renderer, const Value& object, const Value& start, const Value& stop,
                const Value& step);
/// The items which a loop over `value` sees.
Values iterate(Renderer& renderer, const Value& value);
/// Whether `item in container`.
bool is_contained(Renderer& renderer, const Value& item, const Value& container);
/// Whether a < b.
bool is_less(Renderer& renderer, const Value& a, const Value& b);
Value apply_binary(Renderer& renderer, BinaryOperator op, const Value& a, const Value& b);
Value apply_sign(Renderer& renderer, UnaryOperator op, const Value& value);

/// Whether values of this type have the method; other members are data.
bool has_method(const Value& object, std::string_view name);
/// Whether the method would change the value, which templates may not do.
bool changes_object(const Value& object, std::string_view name);
/// Whether methods of this name exist in Python, and none of them is known here.
bool is_lacking_method(std::string_view name);
Value call_method(Renderer& renderer, const BoundMethod& method, const Arguments& arguments);

/// The functions every template knows: range, namespace, dict, raise_exception and, with a clock,
/// strftime_now.
void add_builtins(Renderer& renderer);

}  // namespace parhelion::text::jinja
