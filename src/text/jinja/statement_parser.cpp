#include "base/error.h"
#include "text/jinja/filters.h"
#include "text/jinja/parser.h"

#include <algorithm>
#include <initializer_list>
#include <tuple>

namespace parhelion::text::jinja {
namespace {

using EndNames = std::initializer_list<std::string_view>;

/// Parses statements. A block ends at a tag with one of its end names, which is left standing
/// behind the name's opening {%.
class StatementParser {
 public:
  explicit StatementParser(TokenStream tokens)
      : tokens_(std::move(tokens)), expressions_(tokens_) {}

  Block parse() {
    Block block = parse_block({});
    if (!tokens_.is(TokenKind::end)) tokens_.refuse("the end of the template");
    return block;
  }

 private:
  Block parse_block(EndNames ends) {
    const NestingGuard guard(depth_, tokens_.line());
    Block block;
    while (!tokens_.is(TokenKind::end)) {
      const int line = tokens_.line();
      if (tokens_.is(TokenKind::data)) {
        block.push_back({TextStatement{tokens_.next().text}, line});
      } else if (tokens_.is(TokenKind::print_begin)) {
        block.push_back({parse_print(), line});
      } else {
        tokens_.next();
        const std::string& name = tokens_.peek().text;
        if (std::find(ends.begin(), ends.end(), name) != ends.end()) return block;
        parse_statement(line, block);
      }
    }
    if (ends.size() != 0) tokens_.refuse("{% " + std::string(*(ends.end() - 1)) + " %}");
    return block;
  }

  PrintStatement parse_print() {
    tokens_.next();
    PrintStatement print{expressions_.parse_tuple()};
    if (!tokens_.is(TokenKind::print_end)) tokens_.refuse("'}}'");
    tokens_.next();
    return print;
  }

  void expect_block_end() {
    if (!tokens_.is(TokenKind::block_end)) tokens_.refuse("'%}'");
    tokens_.next();
  }

  /// Steps over the name of an end tag and its end.
  void finish(std::string_view name) {
    if (!tokens_.take_name(name)) tokens_.refuse(name);
    expect_block_end();
  }

  void parse_statement(int line, Block& block) {
    const std::string name = tokens_.expect_name();
    if (name == "if") {
      block.push_back({parse_if(), line});
    } else if (name == "for") {
      block.push_back({parse_for(), line});
    } else if (name == "set") {
      parse_set(line, block);
    } else if (name == "macro") {
      block.push_back({parse_macro(), line});
    } else if (name == "break" || name == "continue") {
      parse_jump(name, line, block);
    } else if (name == "generation") {
      parse_generation(block);
    } else if (name == "filter") {
      block.push_back({parse_filter_block(line), line});
    } else if (name == "call") {
      block.push_back({parse_call(), line});
    } else {
      fail(ErrorKind::unsupported, "chat template line {}: statement '{}' is not supported", line,
           name);
    }
  }

  IfStatement parse_if() {
    IfStatement statement;
    do {
      ExpressionRef condition = expressions_.parse_tuple();
      expect_block_end();
      statement.branches.emplace_back(std::move(condition), parse_block({"elif", "else", "endif"}));
    } while (tokens_.take_name("elif"));
    if (tokens_.take_name("else")) {
      expect_block_end();
      statement.otherwise = parse_block({"endif"});
    }
    finish("endif");
    return statement;
  }

  std::vector<std::string> parse_targets() {
    std::vector<std::string> targets;
    const bool has_parenthesis = tokens_.take_symbol("(");
    do {
      targets.push_back(tokens_.expect_name());
    } while (tokens_.take_symbol(","));
    if (has_parenthesis) tokens_.expect_symbol(")");
    return targets;
  }

  ForStatement parse_for() {
    ForStatement statement;
    statement.targets = parse_targets();
    if (!tokens_.take_name("in")) tokens_.refuse("'in'");
    statement.items = expressions_.parse_or();
    if (tokens_.take_name("if")) statement.condition = expressions_.parse_expression();
    ensure(!tokens_.is_name("recursive"), ErrorKind::unsupported,
           "chat template line {}: a recursive loop is not supported", tokens_.line());
    expect_block_end();
    ++loops_;
    statement.body = parse_block({"else", "endfor"});
    --loops_;
    if (tokens_.take_name("else")) {
      expect_block_end();
      statement.otherwise = parse_block({"endfor"});
    }
    finish("endfor");
    return statement;
  }

  void parse_set(int line, Block& block) {
    SetStatement statement;
    statement.targets = parse_targets();
    if (tokens_.take_symbol(".")) statement.attribute = tokens_.expect_name();
    if (tokens_.take_symbol("=")) {
      statement.value = expressions_.parse_tuple();
      expect_block_end();
      block.push_back({std::move(statement), line});
      return;
    }
    if (statement.targets.size() != 1) tokens_.refuse("'='");
    statement.value = parse_captured(line, "endset");
    block.push_back({std::move(statement), line});
  }

  /// Filters with | between and the end of the tag, then the body up to `end`, as one value.
  ExpressionRef parse_captured(int line, std::string_view end) {
    auto body = std::make_shared<Block>();
    ExpressionRef value =
        std::make_unique<const Expression>(Expression{CaptureExpression{body}, line});
    while (!tokens_.is(TokenKind::block_end)) {
      tokens_.expect_symbol("|");
      value = expressions_.parse_filter(std::move(value));
    }
    expect_block_end();
    *body = parse_block({end});
    finish(end);
    return value;
  }

  /// {% filter a|b %}body{% endfilter %}
  PrintStatement parse_filter_block(int line) {
    auto body = std::make_shared<Block>();
    ExpressionRef value =
        std::make_unique<const Expression>(Expression{CaptureExpression{body}, line});
    do {
      value = expressions_.parse_filter(std::move(value));
    } while (tokens_.take_symbol("|"));
    expect_block_end();
    *body = parse_block({"endfilter"});
    finish("endfilter");
    return {std::move(value)};
  }

  CallStatement parse_call() {
    auto caller = std::make_shared<MacroDefinition>();
    caller->name = "caller";
    if (tokens_.take_symbol("(")) parse_parameters(*caller);
    CallStatement statement;
    std::tie(statement.callee, statement.arguments) = expressions_.parse_call_parts();
    expect_block_end();
    const int outer_loops = std::exchange(loops_, 0);
    caller->body = parse_block({"endcall"});
    loops_ = outer_loops;
    finish("endcall");
    statement.caller = std::move(caller);
    return statement;
  }

  /// The parameters of a macro behind its opening parenthesis.
  void parse_parameters(MacroDefinition& macro) {
    while (!tokens_.take_symbol(")")) {
      macro.parameters.push_back(tokens_.expect_name());
      if (tokens_.take_symbol("=")) {
        macro.defaults.push_back(expressions_.parse_expression());
      } else if (!macro.defaults.empty()) {
        tokens_.refuse("a default");
      }
      if (!tokens_.is_symbol(")")) tokens_.expect_symbol(",");
    }
  }

  MacroStatement parse_macro() {
    auto macro = std::make_shared<MacroDefinition>();
    macro->name = tokens_.expect_name();
    tokens_.expect_symbol("(");
    parse_parameters(*macro);
    expect_block_end();
    const int outer_loops = std::exchange(loops_, 0);
    macro->body = parse_block({"endmacro"});
    loops_ = outer_loops;
    tokens_.next();
    tokens_.take_name(macro->name);
    expect_block_end();
    return {std::move(macro)};
  }

  void parse_jump(const std::string& name, int line, Block& block) {
    ensure(loops_ > 0, ErrorKind::invalid, "chat template line {}: '{}' stands in no loop", line,
           name);
    expect_block_end();
    if (name == "break") {
      block.push_back({BreakStatement{}, line});
    } else {
      block.push_back({ContinueStatement{}, line});
    }
  }

  /// Marks what the assistant generated; the text is the same without it.
  void parse_generation(Block& block) {
    expect_block_end();
    Block body = parse_block({"endgeneration"});
    finish("endgeneration");
    std::move(body.begin(), body.end(), std::back_inserter(block));
  }

  TokenStream tokens_;
  ExpressionParser expressions_;
  int depth_ = 0;
  int loops_ = 0;
};

}  // namespace

Block parse_template(std::string_view source) {
  return StatementParser(TokenStream(cut_template(source))).parse();
}

}  // namespace parhelion::text::jinja
