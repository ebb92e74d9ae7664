#include "text/grammar/automaton.h"
#include "text/grammar/grammar.h"
#include "text/grammar/pattern_cursor.h"
#include "text/utf8.h"

#include <string>
#include <unordered_map>
#include <utility>

namespace parhelion::text {
namespace {

bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

/// Reads rules of the form `name ::= alternatives` into a book.
class GrammarReader {
 public:
  GrammarReader(RuleBook& book, std::string_view text) : book_(book), cursor_(book, text) {
    find_or_add("root");
  }

  void read() {
    skip_space();
    while (!cursor_.is_at_end()) read_rule();
    for (const NamedRule& rule : book_.rules()) {
      ensure(rule.body.index >= 0, ErrorKind::invalid, "{}: rule {} is missing", book_.where(),
             rule.name);
    }
  }

 private:
  void skip_space() {
    for (;;) {
      const char c = cursor_.peek();
      if (c == '#') {
        while (!cursor_.is_at_end() && cursor_.peek() != '\n') cursor_.skip();
      } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        cursor_.skip();
      } else {
        return;
      }
    }
  }

  RuleId find_or_add(std::string_view name) {
    const auto known = rules_.find(std::string(name));
    if (known != rules_.end()) return known->second;
    const RuleId rule = book_.add_rule(name);
    rules_.emplace(name, rule);
    return rule;
  }

  std::string_view read_name() {
    const std::size_t begin = cursor_.at();
    while (is_name_byte(cursor_.peek())) cursor_.skip();
    return cursor_.from(begin);
  }

  /// Whether the next rule begins here.
  bool is_at_rule() const {
    std::size_t ahead = 0;
    while (is_name_byte(cursor_.peek(ahead))) ++ahead;
    if (ahead == 0) return false;
    while (cursor_.peek(ahead) == ' ' || cursor_.peek(ahead) == '\t') ++ahead;
    return cursor_.peek(ahead) == ':' && cursor_.peek(ahead + 1) == ':' &&
           cursor_.peek(ahead + 2) == '=';
  }

  void read_rule() {
    if (!is_at_rule()) cursor_.refuse(ErrorKind::invalid, "expected a rule: name ::= ...");
    const std::string_view name = read_name();
    const RuleId rule = find_or_add(name);
    if (book_.rules()[static_cast<std::size_t>(rule.index)].body.index >= 0) {
      cursor_.refuse(ErrorKind::invalid, "rule {} is there twice", name);
    }
    skip_space();
    cursor_.take("::=");
    book_.define(rule, read_choice());
    if (!cursor_.is_at_end() && !is_at_rule()) {
      cursor_.refuse(ErrorKind::invalid, "expected a part of a rule or the next rule");
    }
  }

  ExpressionId read_choice() {
    Choice choice;
    do {
      choice.parts.push_back(read_sequence());
    } while (cursor_.take("|"));
    return choice.parts.size() == 1 ? choice.parts.front() : book_.add(std::move(choice));
  }

  ExpressionId read_sequence() {
    Sequence sequence;
    for (skip_space(); begins_part(); skip_space()) {
      sequence.parts.push_back(read_repeats(read_part()));
    }
    return book_.add(std::move(sequence));
  }

  bool begins_part() const {
    const char c = cursor_.peek();
    if (is_name_byte(c)) return !is_at_rule();
    return c == '"' || c == '\'' || c == '[' || c == '(' || c == '.';
  }

  ExpressionId read_part() {
    if (cursor_.take("[")) return book_.add(Points{ClassReader(cursor_).read(), Spelling::utf8});
    if (cursor_.take(".")) return book_.add(Points{CodePointSet::all(), Spelling::utf8});
    if (cursor_.take("(")) return read_group();
    if (cursor_.peek() == '"' || cursor_.peek() == '\'') return read_text();
    return book_.add(Call{find_or_add(read_name())});
  }

  ExpressionId read_group() {
    cursor_.enter();
    const ExpressionId inside = read_choice();
    if (!cursor_.take(")")) cursor_.refuse(ErrorKind::invalid, "a ')' is missing");
    cursor_.leave();
    return inside;
  }

  ExpressionId read_text() {
    const char32_t quote = cursor_.take_point();
    std::string text;
    for (;;) {
      if (cursor_.peek() == '\n') cursor_.refuse(ErrorKind::invalid, "a quote is missing");
      const char32_t point = cursor_.take_point();
      if (point == quote) return book_.bytes(text);
      append_utf8(point == '\\' ? read_one_escape() : point, text);
    }
  }

  char32_t read_one_escape() {
    const CodePointSet set = read_escape(cursor_);
    const CodePointRange range = set.ranges().front();
    if (set.ranges().size() > 1 || range.first != range.last) {
      cursor_.refuse(ErrorKind::invalid, "a class of characters in a text");
    }
    return range.first;
  }

  ExpressionId read_repeats(ExpressionId part) {
    const std::optional<RepeatCount> count = read_count();
    if (!count) return part;
    if (read_count()) cursor_.refuse(ErrorKind::invalid, "a repetition of a repetition");
    return book_.add(Repeat{part, count->min, count->max});
  }

  std::optional<RepeatCount> read_count() {
    skip_space();
    if (cursor_.take("*")) return RepeatCount{0, std::nullopt};
    if (cursor_.take("+")) return RepeatCount{1, std::nullopt};
    if (cursor_.take("?")) return RepeatCount{0, 1};
    if (cursor_.peek() == '{') return cursor_.take_braces();
    return std::nullopt;
  }

  RuleBook& book_;
  PatternCursor cursor_;
  std::unordered_map<std::string, RuleId> rules_;
};

}  // namespace

Grammar compile_grammar_text(std::string_view text, const GrammarLimits& limits) {
  RuleBook book("grammar", limits);
  GrammarReader(book, text).read();
  return Grammar(std::make_shared<const Automaton>(compile_automaton(book)));
}

}  // namespace parhelion::text
