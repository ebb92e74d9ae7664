#include "text/grammar/regex_grammar.h"

#include "text/grammar/pattern_cursor.h"

#include <utility>

namespace parhelion::text {
namespace {

/// Source: ECMA-262, LineTerminator.
CodePointSet regex_dot() {
  CodePointSet set('\n', '\n');
  set.add('\r', '\r');
  set.add(0x2028, 0x2029);
  return set.complement();
}

/// Reads a regular expression by recursive descent.
class RegexReader {
 public:
  RegexReader(RuleBook& book, std::string_view pattern, const RegexOptions& options)
      : book_(book), cursor_(book, pattern), options_(options) {}

  ExpressionId read() {
    Choice choice;
    do {
      choice.parts.push_back(read_anchored());
    } while (cursor_.take("|"));
    if (!cursor_.is_at_end()) cursor_.refuse(ErrorKind::invalid, "a ')' too many");
    return book_.add(std::move(choice));
  }

 private:
  ExpressionId points(CodePointSet set) {
    return book_.add(Points{std::move(set), options_.spelling});
  }
  ExpressionId any_text() { return book_.add(Repeat{points(CodePointSet::all()), 0, {}}); }

  /// One alternative of the whole, with its anchors.
  ExpressionId read_anchored() {
    const bool searches = options_.span == RegexSpan::anywhere;
    const bool from_start = cursor_.take("^") || !searches;
    const ExpressionId middle = read_sequence();
    const bool to_end = cursor_.take("$") || !searches;
    if (cursor_.peek() == '$') cursor_.refuse(ErrorKind::invalid, "a second '$'");
    const bool ends = cursor_.is_at_end() || cursor_.peek() == '|' || cursor_.peek() == ')';
    if (!ends) refuse_anchor('$');
    Sequence sequence;
    if (!from_start) sequence.parts.push_back(any_text());
    sequence.parts.push_back(middle);
    if (!to_end) sequence.parts.push_back(any_text());
    return book_.add(std::move(sequence));
  }

  [[noreturn]] void refuse_anchor(char anchor) {
    cursor_.refuse(ErrorKind::unsupported,
                   "'{}' is supported only at the ends of an alternative outside groups", anchor);
  }

  ExpressionId read_choice() {
    Choice choice;
    do {
      choice.parts.push_back(read_sequence());
      if (cursor_.peek() == '$') refuse_anchor('$');
    } while (cursor_.take("|"));
    return choice.parts.size() == 1 ? choice.parts.front() : book_.add(std::move(choice));
  }

  ExpressionId read_sequence() {
    Sequence sequence;
    while (!cursor_.is_at_end() && cursor_.peek() != '|' && cursor_.peek() != ')' &&
           cursor_.peek() != '$') {
      sequence.parts.push_back(read_repeats(read_atom()));
    }
    return book_.add(std::move(sequence));
  }

  ExpressionId read_repeats(ExpressionId part) {
    const std::optional<RepeatCount> count = read_count();
    if (!count) return part;
    cursor_.take("?");  // a lazy repetition has the same matches
    if (cursor_.peek() == '+') {
      cursor_.refuse(ErrorKind::unsupported, "possessive repetitions are not supported");
    }
    if (read_count()) cursor_.refuse(ErrorKind::invalid, "a repetition of a repetition");
    return book_.add(Repeat{part, count->min, count->max});
  }

  std::optional<RepeatCount> read_count() {
    if (cursor_.take("*")) return RepeatCount{0, std::nullopt};
    if (cursor_.take("+")) return RepeatCount{1, std::nullopt};
    if (cursor_.take("?")) return RepeatCount{0, 1};
    if (cursor_.peek() == '{') return cursor_.take_braces();
    return std::nullopt;
  }

  ExpressionId read_atom() {
    if (cursor_.take("(")) return read_group();
    if (cursor_.take("[")) return points(ClassReader(cursor_).read());
    if (cursor_.take("\\")) return points(read_escape(cursor_));
    if (cursor_.take(".")) return points(regex_dot());
    const char next = cursor_.peek();
    if (next == '^') refuse_anchor('^');
    if (next == '*' || next == '+' || next == '?' || next == '{') {
      cursor_.refuse(ErrorKind::invalid, "'{}' repeats nothing", next);
    }
    const char32_t point = cursor_.take_point();
    return points({point, point});
  }

  ExpressionId read_group() {
    cursor_.enter();
    if (cursor_.take("?<=") || cursor_.take("?<!") || cursor_.take("?=") || cursor_.take("?!")) {
      cursor_.refuse(ErrorKind::unsupported, "looking ahead or behind is not supported");
    }
    if (cursor_.take("?<") || cursor_.take("?P<")) {
      while (!cursor_.take(">")) cursor_.take_point();
    } else if (cursor_.peek() == '?' && !cursor_.take("?:")) {
      cursor_.refuse(ErrorKind::unsupported, "groups of the form (?{} are not supported",
                     cursor_.peek(1));
    }
    const ExpressionId inside = read_choice();
    if (!cursor_.take(")")) cursor_.refuse(ErrorKind::invalid, "a ')' is missing");
    cursor_.leave();
    return inside;
  }

  RuleBook& book_;
  PatternCursor cursor_;
  RegexOptions options_;
};

}  // namespace

ExpressionId add_regex(RuleBook& book, std::string_view pattern, const RegexOptions& options) {
  return RegexReader(book, pattern, options).read();
}

}  // namespace parhelion::text
