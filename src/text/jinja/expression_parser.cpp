#include "base/error.h"
#include "text/jinja/filters.h"
#include "text/jinja/parser.h"
#include "text/jinja/tests.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace parhelion::text::jinja {
namespace {

constexpr int kMaxNodes = 5000;  // of one expression

constexpr std::array<std::pair<std::string_view, Comparison>, 6> kComparisons = {{
    {"==", Comparison::equal},
    {"!=", Comparison::not_equal},
    {"<", Comparison::less},
    {"<=", Comparison::less_equal},
    {">", Comparison::greater},
    {">=", Comparison::greater_equal},
}};

std::int64_t parse_integer(const Token& token) {
  std::int64_t value = 0;
  const char* end = token.text.data() + token.text.size();
  const auto [stop, error] = std::from_chars(token.text.data(), end, value);
  ensure(error == std::errc() && stop == end, ErrorKind::unsupported,
         "chat template line {}: integer {} is not supported, expected 64 bits", token.line,
         token.text);
  return value;
}

double parse_double(const Token& token) {
  double value = 0;
  const char* end = token.text.data() + token.text.size();
  const auto [stop, error] = std::from_chars(token.text.data(), end, value);
  ensure(error == std::errc() && stop == end, ErrorKind::unsupported,
         "chat template line {}: number {} is not supported", token.line, token.text);
  return value;
}

/// The value of a name that is a constant.
std::optional<Value> find_constant(std::string_view name) {
  if (name == "true" || name == "True") return Value(true);
  if (name == "false" || name == "False") return Value(false);
  if (name == "none" || name == "None") return Value(None{});
  return std::nullopt;
}

}  // namespace

template <class Node>
ExpressionRef ExpressionParser::make(Node node, int line) {
  ensure(++nodes_ <= kMaxNodes, ErrorKind::invalid,
         "chat template line {}: an expression has more than {} parts", line, kMaxNodes);
  return std::make_unique<const Expression>(Expression{std::move(node), line});
}

ExpressionRef ExpressionParser::parse_expression() {
  const int line = tokens_.line();
  if (depth_ == 0) nodes_ = 0;
  const NestingGuard guard(depth_, line);
  ExpressionRef value = parse_or();
  while (tokens_.take_name("if")) {
    ExpressionRef condition = parse_or();
    ExpressionRef if_false = tokens_.take_name("else") ? parse_expression() : nullptr;
    value = make(ConditionalExpression{std::move(condition), std::move(value), std::move(if_false)},
                 line);
  }
  return value;
}

ExpressionRef ExpressionParser::parse_or() {
  if (depth_ == 0) nodes_ = 0;
  ExpressionRef left = parse_and();
  for (int line = tokens_.line(); tokens_.take_name("or"); line = tokens_.line()) {
    left = make(BinaryExpression{BinaryOperator::logical_or, std::move(left), parse_and()}, line);
  }
  return left;
}

ExpressionRef ExpressionParser::parse_and() {
  ExpressionRef left = parse_not();
  for (int line = tokens_.line(); tokens_.take_name("and"); line = tokens_.line()) {
    left = make(BinaryExpression{BinaryOperator::logical_and, std::move(left), parse_not()}, line);
  }
  return left;
}

ExpressionRef ExpressionParser::parse_not() {
  const int line = tokens_.line();
  if (!tokens_.take_name("not")) return parse_comparison();
  const NestingGuard guard(depth_, line);
  return make(UnaryExpression{UnaryOperator::logical_not, parse_not()}, line);
}

std::optional<Comparison> ExpressionParser::take_comparison() {
  for (const auto& [symbol, comparison] : kComparisons) {
    if (tokens_.take_symbol(symbol)) return comparison;
  }
  if (tokens_.take_name("in")) return Comparison::contained;
  const Token& behind = tokens_.peek(1);
  if (tokens_.is_name("not") && behind.kind == TokenKind::name && behind.text == "in") {
    tokens_.next();
    tokens_.next();
    return Comparison::not_contained;
  }
  return std::nullopt;
}

ExpressionRef ExpressionParser::parse_comparison() {
  const int line = tokens_.line();
  CompareExpression compare{parse_sum(), {}};
  while (const auto comparison = take_comparison()) {
    compare.links.emplace_back(*comparison, parse_sum());
  }
  if (compare.links.empty()) return std::move(compare.first);
  return make(std::move(compare), line);
}

ExpressionRef ExpressionParser::parse_sum() {
  ExpressionRef left = parse_concatenation();
  while (tokens_.is_symbol("+") || tokens_.is_symbol("-")) {
    const Token token = tokens_.next();
    const auto op = token.text == "+" ? BinaryOperator::add : BinaryOperator::subtract;
    left = make(BinaryExpression{op, std::move(left), parse_concatenation()}, token.line);
  }
  return left;
}

ExpressionRef ExpressionParser::parse_concatenation() {
  ExpressionRef left = parse_product();
  for (int line = tokens_.line(); tokens_.take_symbol("~"); line = tokens_.line()) {
    left =
        make(BinaryExpression{BinaryOperator::concatenate, std::move(left), parse_product()}, line);
  }
  return left;
}

ExpressionRef ExpressionParser::parse_product() {
  constexpr std::array<std::pair<std::string_view, BinaryOperator>, 4> kOperators = {{
      {"*", BinaryOperator::multiply},
      {"/", BinaryOperator::divide},
      {"//", BinaryOperator::floor_divide},
      {"%", BinaryOperator::modulo},
  }};
  ExpressionRef left = parse_power();
  while (true) {
    const Token token = tokens_.peek();
    const auto* found = std::find_if(kOperators.begin(), kOperators.end(), [&](const auto& item) {
      return tokens_.is_symbol(item.first);
    });
    if (found == kOperators.end()) return left;
    tokens_.next();
    left = make(BinaryExpression{found->second, std::move(left), parse_power()}, token.line);
  }
}

ExpressionRef ExpressionParser::parse_power() {
  ExpressionRef left = parse_sign();
  for (int line = tokens_.line(); tokens_.take_symbol("**"); line = tokens_.line()) {
    left = make(BinaryExpression{BinaryOperator::power, std::move(left), parse_sign()}, line);
  }
  return left;
}

/// A sign binds tighter than a filter: -x|f is (-x)|f.
ExpressionRef ExpressionParser::parse_sign() {
  std::vector<UnaryOperator> signs;
  const int line = tokens_.line();
  while (tokens_.is_symbol("-") || tokens_.is_symbol("+")) {
    signs.push_back(tokens_.next().text == "-" ? UnaryOperator::negate : UnaryOperator::plus);
  }
  ExpressionRef value = parse_postfix(parse_primary());
  for (auto sign = signs.rbegin(); sign != signs.rend(); ++sign) {
    value = make(UnaryExpression{*sign, std::move(value)}, line);
  }
  return parse_filters(std::move(value));
}

ExpressionRef ExpressionParser::parse_filters(ExpressionRef value) {
  while (true) {
    if (tokens_.take_symbol("|")) {
      value = parse_filter(std::move(value));
    } else if (tokens_.is_name("is")) {
      value = parse_test(std::move(value));
    } else if (tokens_.is_symbol("(")) {
      value = parse_call(std::move(value));
    } else {
      return value;
    }
  }
}

ExpressionRef ExpressionParser::parse_filter(ExpressionRef value) {
  const int line = tokens_.line();
  const std::string name = tokens_.expect_name();
  const Filter* filter = find_filter(name);
  ensure(filter != nullptr || !is_filter_of_jinja(name), ErrorKind::unsupported,
         "chat template line {}: filter '{}' is not supported", line, name);
  ArgumentList arguments;
  if (tokens_.is_symbol("(")) arguments = parse_arguments();
  return make(FilterExpression{std::move(value), name, filter, std::move(arguments)}, line);
}

std::pair<ExpressionRef, ArgumentList> ExpressionParser::parse_call_parts() {
  ExpressionRef callee = parse_primary();
  while (tokens_.take_symbol(".")) {
    const int line = tokens_.line();
    callee = make(AttributeExpression{std::move(callee), tokens_.expect_name()}, line);
  }
  if (!tokens_.is_symbol("(")) tokens_.refuse("'('");
  return {std::move(callee), parse_arguments()};
}

bool ExpressionParser::starts_test_argument() const {
  const Token& token = tokens_.peek();
  switch (token.kind) {
    case TokenKind::name:
      return token.text != "else" && token.text != "or" && token.text != "and" &&
             token.text != "if" && token.text != "in" && token.text != "not";
    case TokenKind::string:
    case TokenKind::integer:
    case TokenKind::floating:
      return true;
    case TokenKind::symbol:
      return token.text == "[" || token.text == "{";
    case TokenKind::data:
    case TokenKind::block_begin:
    case TokenKind::block_end:
    case TokenKind::print_begin:
    case TokenKind::print_end:
    case TokenKind::end:
      return false;
  }
  return false;
}

ExpressionRef ExpressionParser::parse_test(ExpressionRef value) {
  const int line = tokens_.next().line;
  const bool is_negated = tokens_.take_name("not");
  TestExpression test{std::move(value), tokens_.expect_name(), {}};
  ensure(is_known_test(test.name), ErrorKind::unsupported,
         "chat template line {}: test '{}' is not supported", line, test.name);
  if (tokens_.is_symbol("(")) {
    ArgumentList arguments = parse_arguments();
    ensure(arguments.named.empty(), ErrorKind::unsupported,
           "chat template line {}: named arguments of test '{}' are not supported", line,
           test.name);
    test.arguments = std::move(arguments.positional);
  } else if (starts_test_argument()) {
    if (tokens_.is_name("is")) tokens_.refuse("no second test");
    test.arguments.push_back(parse_postfix(parse_primary()));
  }
  ExpressionRef result = make(std::move(test), line);
  if (!is_negated) return result;
  return make(UnaryExpression{UnaryOperator::logical_not, std::move(result)}, line);
}

ExpressionRef ExpressionParser::parse_postfix(ExpressionRef value) {
  while (true) {
    const int line = tokens_.line();
    if (tokens_.take_symbol(".")) {
      if (tokens_.is(TokenKind::integer)) {
        ExpressionRef index = make(LiteralExpression{parse_integer(tokens_.next())}, line);
        value = make(ItemExpression{std::move(value), std::move(index)}, line);
      } else {
        value = make(AttributeExpression{std::move(value), tokens_.expect_name()}, line);
      }
    } else if (tokens_.is_symbol("[")) {
      value = parse_subscript(std::move(value));
    } else if (tokens_.is_symbol("(")) {
      value = parse_call(std::move(value));
    } else {
      return value;
    }
  }
}

ExpressionRef ExpressionParser::parse_subscript(ExpressionRef value) {
  const int line = tokens_.next().line;
  const auto is_part_end = [this] { return tokens_.is_symbol(":") || tokens_.is_symbol("]"); };
  ExpressionRef start = is_part_end() ? nullptr : parse_expression();
  if (tokens_.take_symbol("]")) {
    if (start == nullptr) tokens_.refuse("an index");
    return make(ItemExpression{std::move(value), std::move(start)}, line);
  }
  tokens_.expect_symbol(":");
  ExpressionRef stop = is_part_end() ? nullptr : parse_expression();
  ExpressionRef step;
  if (tokens_.take_symbol(":") && !is_part_end()) step = parse_expression();
  tokens_.expect_symbol("]");
  return make(SliceExpression{std::move(value), std::move(start), std::move(stop), std::move(step)},
              line);
}

ExpressionRef ExpressionParser::parse_call(ExpressionRef value) {
  const int line = tokens_.line();
  return make(CallExpression{std::move(value), parse_arguments()}, line);
}

ArgumentList ExpressionParser::parse_arguments() {
  ArgumentList arguments;
  const int line = tokens_.next().line;
  while (!tokens_.take_symbol(")")) {
    ensure(!tokens_.is_symbol("*") && !tokens_.is_symbol("**"), ErrorKind::unsupported,
           "chat template line {}: arguments with * are not supported", line);
    const Token& behind = tokens_.peek(1);
    const bool is_named =
        tokens_.is(TokenKind::name) && behind.kind == TokenKind::symbol && behind.text == "=";
    if (is_named) {
      const std::string name = tokens_.next().text;
      tokens_.next();
      arguments.named.emplace_back(name, parse_expression());
    } else {
      if (!arguments.named.empty()) tokens_.refuse("a named argument");
      arguments.positional.push_back(parse_expression());
    }
    if (!tokens_.is_symbol(")")) tokens_.expect_symbol(",");
  }
  return arguments;
}

ExpressionRef ExpressionParser::parse_primary() {
  const int line = tokens_.line();
  if (tokens_.is_symbol("(")) return parse_parentheses();
  if (tokens_.is_symbol("[")) return parse_list();
  if (tokens_.is_symbol("{")) return parse_dict();
  if (!tokens_.is(TokenKind::name)) return parse_literal();
  const std::string name = tokens_.next().text;
  if (const auto constant = find_constant(name)) return make(LiteralExpression{*constant}, line);
  return make(NameExpression{name}, line);
}

ExpressionRef ExpressionParser::parse_literal() {
  const int line = tokens_.line();
  if (tokens_.is(TokenKind::integer)) {
    return make(LiteralExpression{parse_integer(tokens_.next())}, line);
  }
  if (tokens_.is(TokenKind::floating)) {
    return make(LiteralExpression{parse_double(tokens_.next())}, line);
  }
  if (!tokens_.is(TokenKind::string)) tokens_.refuse("an expression");
  std::string text;  // neighbouring strings are one
  while (tokens_.is(TokenKind::string)) text += tokens_.next().text;
  return make(LiteralExpression{Value(std::move(text))}, line);
}

ExpressionRef ExpressionParser::parse_tuple() {
  const int line = tokens_.line();
  ExpressionRef first = parse_expression();
  if (!tokens_.is_symbol(",")) return first;
  ListExpression tuple{.items = {}, .is_tuple = true};
  tuple.items.push_back(std::move(first));
  while (tokens_.take_symbol(",")) {
    const bool is_end = tokens_.is_symbol(")") || tokens_.is(TokenKind::block_end) ||
                        tokens_.is(TokenKind::print_end);
    if (!is_end) tuple.items.push_back(parse_expression());
  }
  return make(std::move(tuple), line);
}

ExpressionRef ExpressionParser::parse_parentheses() {
  const int line = tokens_.next().line;
  const NestingGuard guard(depth_, line);
  if (tokens_.take_symbol(")")) return make(ListExpression{.items = {}, .is_tuple = true}, line);
  ExpressionRef value = parse_tuple();
  tokens_.expect_symbol(")");
  return value;
}

ExpressionRef ExpressionParser::parse_list() {
  const int line = tokens_.next().line;
  ListExpression list;
  while (!tokens_.take_symbol("]")) {
    list.items.push_back(parse_expression());
    if (!tokens_.is_symbol("]")) tokens_.expect_symbol(",");
  }
  return make(std::move(list), line);
}

ExpressionRef ExpressionParser::parse_dict() {
  const int line = tokens_.next().line;
  DictExpression dict;
  while (!tokens_.take_symbol("}")) {
    ExpressionRef key = parse_expression();
    tokens_.expect_symbol(":");
    dict.items.emplace_back(std::move(key), parse_expression());
    if (!tokens_.is_symbol("}")) tokens_.expect_symbol(",");
  }
  return make(std::move(dict), line);
}

}  // namespace parhelion::text::jinja
