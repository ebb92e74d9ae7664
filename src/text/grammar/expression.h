#pragma once

#include "text/grammar/byte_words.h"
#include "text/grammar/code_point_set.h"
#include "text/grammar/limits.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace parhelion::text {

/// An expression of a `RuleBook`.
struct ExpressionId {
  std::int32_t index = -1;
  bool operator==(const ExpressionId&) const = default;
};

/// A rule of a `RuleBook`, or of the automaton made of it.
struct RuleId {
  std::int32_t index = -1;
  auto operator<=>(const RuleId&) const = default;
};

struct Bytes {
  std::string bytes;
};
struct Points {
  CodePointSet set;
  Spelling spelling = Spelling::utf8;
};
struct Sequence {
  std::vector<ExpressionId> parts;
};
/// Any of the parts; of none, nothing matches.
struct Choice {
  std::vector<ExpressionId> parts;
};
struct Repeat {
  ExpressionId part;
  std::int64_t min = 0;
  std::optional<std::int64_t> max;
};

/// What may come next where an element of a list is left out.
enum class LeaveOut : std::uint8_t {
  alone,     ///< the next element
  with_rest  ///< nothing: the list ends
};
struct ListElement {
  ExpressionId part;
  std::int64_t min = 1;
  std::optional<std::int64_t> max = 1;
  LeaveOut leave_out = LeaveOut::alone;
};
/// The elements in order, with a separator between each two that are there.
struct List {
  ExpressionId separator;
  std::vector<ListElement> elements;
};
struct Call {
  RuleId rule;
};

using Expression = std::variant<Bytes, Points, Sequence, Choice, Repeat, List, Call>;

struct NamedRule {
  std::string name;
  ExpressionId body;  ///< index -1 until it is defined
};

/// The rules of a grammar as its front end builds them. Rule 0 is the whole.
class RuleBook {
 public:
  /// `where` names the grammar in errors.
  RuleBook(std::string_view where, const GrammarLimits& limits) : where_(where), limits_(limits) {}

  /// Errors: exhausted if there are more than the limits allow.
  ExpressionId add(Expression expression);
  RuleId add_rule(std::string_view name);
  void define(RuleId rule, ExpressionId body);

  ExpressionId bytes(std::string_view text) { return add(Bytes{std::string(text)}); }
  ExpressionId nothing() { return add(Choice{}); }
  ExpressionId optional(ExpressionId part) { return add(Repeat{part, 0, 1}); }

  const Expression& at(ExpressionId id) const {
    return expressions_[static_cast<std::size_t>(id.index)];
  }
  const std::vector<NamedRule>& rules() const { return rules_; }
  const std::string& where() const { return where_; }
  const GrammarLimits& limits() const { return limits_; }

 private:
  std::string where_;
  GrammarLimits limits_;
  std::vector<Expression> expressions_;
  std::vector<NamedRule> rules_;
};

}  // namespace parhelion::text
