#pragma once

#include "text/jinja/lexer.h"
#include "text/jinja/syntax.h"

#include <string_view>
#include <vector>

namespace parhelion::text::jinja {

/// Parses a template.
///
/// Errors: invalid, with the line, if it is none or is nested too deep; unsupported, with the line,
/// for statements, filters and tests that this engine does not know.
Block parse_template(std::string_view source);

/// Walks over the tokens of a template. Shared by the parsers of statements and of expressions.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& peek(std::size_t ahead = 0) const;
  Token next();
  bool is(TokenKind kind) const { return peek().kind == kind; }
  bool is_symbol(std::string_view text) const;
  bool is_name(std::string_view text) const;
  /// Steps over the token if it is this one.
  bool take_symbol(std::string_view text);
  bool take_name(std::string_view text);
  void expect_symbol(std::string_view text);
  std::string expect_name();
  int line() const { return peek().line; }
  [[noreturn]] void refuse(std::string_view expected) const;

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

/// Counts how deep the parser is nested, within a limit.
class NestingGuard {
 public:
  NestingGuard(int& depth, int line);
  ~NestingGuard() { --depth_; }
  NestingGuard(const NestingGuard&) = delete;
  NestingGuard& operator=(const NestingGuard&) = delete;

 private:
  int& depth_;
};

/// Parses expressions. Precedence, from loose to tight: if-else, or, and, not, comparisons, + and
/// -,
/// ~, products, **, signs, filters and tests, members and calls.
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  ExpressionRef parse_expression();
  /// An expression without `if`, as behind `in` of a loop.
  ExpressionRef parse_or();
  /// A filter of `value` behind its sign |, or behind the name of a filter block.
  ExpressionRef parse_filter(ExpressionRef value);
  /// Filters, tests and calls behind `value`.
  ExpressionRef parse_filters(ExpressionRef value);
  /// A call of a macro behind `call`: the callee, and what it is called with.
  std::pair<ExpressionRef, ArgumentList> parse_call_parts();
  /// One or more expressions with commas between; more than one are a tuple.
  ExpressionRef parse_tuple();

 private:
  ExpressionRef parse_and();
  ExpressionRef parse_not();
  ExpressionRef parse_comparison();
  std::optional<Comparison> take_comparison();
  ExpressionRef parse_sum();
  ExpressionRef parse_concatenation();
  ExpressionRef parse_product();
  ExpressionRef parse_power();
  ExpressionRef parse_sign();
  ExpressionRef parse_test(ExpressionRef value);
  bool starts_test_argument() const;
  ExpressionRef parse_postfix(ExpressionRef value);
  ExpressionRef parse_subscript(ExpressionRef value);
  ExpressionRef parse_call(ExpressionRef value);
  ArgumentList parse_arguments();
  ExpressionRef parse_primary();
  ExpressionRef parse_literal();
  ExpressionRef parse_parentheses();
  ExpressionRef parse_list();
  ExpressionRef parse_dict();

  template <class Node>
  ExpressionRef make(Node node, int line);

  TokenStream& tokens_;
  int depth_ = 0;
  int nodes_ = 0;  // links of the chain being built, which evaluation will nest
};

}  // namespace parhelion::text::jinja
