#pragma once

#include "text/grammar/expression.h"
#include "text/grammar/json_schema.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parhelion::text {

/// The rules of JSON texts in a book, each added when it is first asked for.
class JsonRules {
 public:
  JsonRules(RuleBook& book, JsonSpaces spaces) : book_(book), spaces_(spaces) {}

  ExpressionId any_value();
  ExpressionId any_object();
  ExpressionId any_array();
  ExpressionId any_string();
  /// A string of so many characters.
  ExpressionId string_of_length(std::int64_t min, std::optional<std::int64_t> max);
  /// A string that contains a match of `pattern`, or is one.
  ExpressionId string_of_pattern(std::string_view pattern, bool is_whole);

  /// One value, as write_json writes it but for the spaces.
  ExpressionId literal(const Json& value);
  /// `name` as a JSON string and a colon, then `value`.
  ExpressionId member(std::string_view name, ExpressionId value);
  /// A member whose name is any string but `taken`.
  ExpressionId other_member(const std::vector<std::string>& taken, ExpressionId value);
  ExpressionId object(std::vector<ListElement> members);
  ExpressionId array(std::vector<ListElement> items);

 private:
  ExpressionId separator(std::string_view mark);
  ExpressionId quoted(ExpressionId inside);
  ExpressionId other_name(const std::vector<std::u32string>& taken, std::size_t depth);
  ExpressionId sequence(std::vector<ExpressionId> parts) {
    return book_.add(Sequence{std::move(parts)});
  }
  /// The rule `name`, whose body `make` gives when it is new.
  template <class Make>
  ExpressionId rule(const std::string& name, const Make& make);

  RuleBook& book_;
  JsonSpaces spaces_;
  std::map<std::string, RuleId> rules_;
};

}  // namespace parhelion::text
