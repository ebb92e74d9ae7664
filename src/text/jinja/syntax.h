#pragma once

#include "text/jinja/value.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace parhelion::text::jinja {

struct Expression;
using ExpressionRef = std::unique_ptr<const Expression>;
struct Filter;

enum class UnaryOperator : std::uint8_t { negate, plus, logical_not };
enum class BinaryOperator : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power,
  concatenate,
  logical_and,
  logical_or,
};
enum class Comparison : std::uint8_t {
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  contained,
  not_contained,
};

/// The arguments of a call as written.
struct ArgumentList {
  std::vector<ExpressionRef> positional;
  std::vector<std::pair<std::string, ExpressionRef>> named;
};

struct LiteralExpression {
  Value value;
};
struct NameExpression {
  std::string name;
};
struct ListExpression {
  std::vector<ExpressionRef> items;
  bool is_tuple = false;
};
struct DictExpression {
  std::vector<std::pair<ExpressionRef, ExpressionRef>> items;
};
struct AttributeExpression {
  ExpressionRef object;
  std::string name;
};
struct ItemExpression {
  ExpressionRef object;
  ExpressionRef index;
};
/// Absent parts are null.
struct SliceExpression {
  ExpressionRef object;
  ExpressionRef start;
  ExpressionRef stop;
  ExpressionRef step;
};
struct CallExpression {
  ExpressionRef callee;
  ArgumentList arguments;
};
/// A filter that Jinja does not know either is null: using it is an error of the template.
struct FilterExpression {
  ExpressionRef input;
  std::string name;
  const Filter* filter = nullptr;
  ArgumentList arguments;
};
struct TestExpression {
  ExpressionRef input;
  std::string name;
  std::vector<ExpressionRef> arguments;
};
struct UnaryExpression {
  UnaryOperator op = UnaryOperator::negate;
  ExpressionRef operand;
};
struct BinaryExpression {
  BinaryOperator op = BinaryOperator::add;
  ExpressionRef left;
  ExpressionRef right;
};
/// a < b < c is one node with two links.
struct CompareExpression {
  ExpressionRef first;
  std::vector<std::pair<Comparison, ExpressionRef>> links;
};
struct ConditionalExpression {
  ExpressionRef condition;
  ExpressionRef if_true;
  ExpressionRef if_false;  ///< may be null: undefined
};

struct Statement;
using Block = std::vector<Statement>;
/// The text that a block of statements gives.
struct CaptureExpression {
  std::shared_ptr<const Block> body;
};

struct Expression {
  std::variant<LiteralExpression, NameExpression, ListExpression, DictExpression,
               AttributeExpression, ItemExpression, SliceExpression, CallExpression,
               FilterExpression, TestExpression, UnaryExpression, BinaryExpression,
               CompareExpression, ConditionalExpression, CaptureExpression>
      node;
  int line = 1;
};

struct TextStatement {
  std::string text;
};
struct PrintStatement {
  ExpressionRef value;
};
struct IfStatement {
  std::vector<std::pair<ExpressionRef, Block>> branches;
  Block otherwise;
};
struct ForStatement {
  std::vector<std::string> targets;
  ExpressionRef items;
  ExpressionRef condition;  ///< may be null
  Block body;
  Block otherwise;
};
/// {% set a, b = value %} or, with an attribute, {% set object.attribute = value %}.
struct SetStatement {
  std::vector<std::string> targets;
  std::string attribute;
  ExpressionRef value;
};
struct MacroDefinition {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<ExpressionRef> defaults;  ///< of the last parameters
  Block body;
};
struct MacroStatement {
  std::shared_ptr<const MacroDefinition> macro;
};
/// {% call(parameters) macro(arguments) %}body{% endcall %}: the macro may call the body.
struct CallStatement {
  ExpressionRef callee;
  ArgumentList arguments;
  std::shared_ptr<const MacroDefinition> caller;
};
struct BreakStatement {};
struct ContinueStatement {};

struct Statement {
  std::variant<TextStatement, PrintStatement, IfStatement, ForStatement, SetStatement,
               MacroStatement, CallStatement, BreakStatement, ContinueStatement>
      node;
  int line = 1;
};

}  // namespace parhelion::text::jinja
