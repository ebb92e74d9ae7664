#include "text/grammar/json_rules.h"

#include "base/error.h"
#include "base/json.h"
#include "text/grammar/automaton.h"
#include "text/grammar/decimal_range.h"
#include "text/grammar/regex_grammar.h"
#include "text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace parhelion::text {
namespace {

std::u32string code_points(std::string_view text) {
  std::u32string points;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_valid(text.data() + at);
    points += point.value;
    at += point.bytes;
  }
  return points;
}

}  // namespace

template <class Make>
ExpressionId JsonRules::rule(const std::string& name, const Make& make) {
  const auto [known, is_new] = rules_.try_emplace(name);
  if (is_new) {
    const RuleId added = book_.add_rule(name);
    known->second = added;
    book_.define(added, make());
    return book_.add(Call{added});
  }
  return book_.add(Call{known->second});
}

ExpressionId JsonRules::separator(std::string_view mark) {
  const ExpressionId bytes = book_.bytes(mark);
  if (spaces_ == JsonSpaces::none) return bytes;
  return sequence({bytes, book_.optional(book_.bytes(" "))});
}

ExpressionId JsonRules::quoted(ExpressionId inside) {
  return sequence({book_.bytes("\""), inside, book_.bytes("\"")});
}

ExpressionId JsonRules::any_value() {
  return rule("json value", [this] {
    return book_.add(Choice{{any_object(), any_array(), any_string(), add_numbers(book_, {}),
                             book_.bytes("true"), book_.bytes("false"), book_.bytes("null")}});
  });
}

ExpressionId JsonRules::any_object() {
  return rule("json object", [this] {
    const ExpressionId member = sequence({any_string(), separator(":"), any_value()});
    return object({{.part = member, .min = 0, .max = std::nullopt}});
  });
}

ExpressionId JsonRules::any_array() {
  return rule("json array",
              [this] { return array({{.part = any_value(), .min = 0, .max = std::nullopt}}); });
}

ExpressionId JsonRules::any_string() {
  return rule("json string", [this] {
    const ExpressionId point = book_.add(Points{CodePointSet::all(), Spelling::json_any});
    return quoted(book_.add(Repeat{point, 0, {}}));
  });
}

ExpressionId JsonRules::string_of_length(std::int64_t min, std::optional<std::int64_t> max) {
  if (min == 0 && !max) return any_string();
  const std::string bound = max ? std::to_string(*max) : "";
  return rule(fmt::format("json string of length {}..{}", min, bound), [&] {
    if (max && *max < min) return book_.nothing();
    const ExpressionId point = book_.add(Points{CodePointSet::all(), Spelling::json});
    return quoted(book_.add(Repeat{point, min, max}));
  });
}

ExpressionId JsonRules::string_of_pattern(std::string_view pattern, bool is_whole) {
  const RegexSpan span = is_whole ? RegexSpan::whole : RegexSpan::anywhere;
  return rule(fmt::format("json string {} {}", is_whole ? "of" : "with", pattern), [&] {
    return quoted(add_regex(book_, pattern, {Spelling::json, span}));
  });
}

ExpressionId JsonRules::literal(const Json& value) {
  std::vector<ListElement> parts;
  if (value.is_array()) {
    for (const Json& item : value.as_array("")) parts.push_back({.part = literal(item)});
    return array(std::move(parts));
  }
  if (!value.is_object()) return book_.bytes(write_json(value));
  for (const auto& [name, one] : value.as_object("")) {
    parts.push_back({.part = member(name, literal(one))});
  }
  return object(std::move(parts));
}

ExpressionId JsonRules::member(std::string_view name, ExpressionId value) {
  return sequence({book_.bytes(write_json(Json(name))), separator(":"), value});
}

ExpressionId JsonRules::other_member(const std::vector<std::string>& taken, ExpressionId value) {
  if (taken.empty()) return sequence({any_string(), separator(":"), value});
  std::vector<std::u32string> names;
  for (const std::string& name : taken) names.push_back(code_points(name));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return sequence({book_.bytes("\""), other_name(names, 0), separator(":"), value});
}

/// The rest of a string, with its closing quote, behind `depth` characters which begin all of
/// `taken` and that differs from all of them. Names are in order.
ExpressionId JsonRules::other_name(const std::vector<std::u32string>& taken, std::size_t depth) {
  ensure(static_cast<std::int64_t>(depth) <= book_.limits().depth, ErrorKind::exhausted,
         "{}: names longer than {} characters beside additional properties", book_.where(),
         book_.limits().depth);
  Choice choice;
  CodePointSet others = CodePointSet::all();
  const bool is_taken = taken.front().size() == depth;
  if (!is_taken) choice.parts.push_back(book_.bytes("\""));
  for (auto first = taken.begin() + (is_taken ? 1 : 0); first != taken.end();) {
    const char32_t point = (*first)[depth];
    const auto end = std::find_if(first, taken.end(),
                                  [&](const std::u32string& name) { return name[depth] != point; });
    const CodePointSet one(point, point);
    others.remove(one);
    choice.parts.push_back(
        sequence({book_.add(Points{one, Spelling::json}), other_name({first, end}, depth + 1)}));
    first = end;
  }
  const ExpressionId any = book_.add(Points{CodePointSet::all(), Spelling::json});
  choice.parts.push_back(sequence({book_.add(Points{others, Spelling::json}),
                                   book_.add(Repeat{any, 0, {}}), book_.bytes("\"")}));
  return book_.add(std::move(choice));
}

ExpressionId JsonRules::object(std::vector<ListElement> members) {
  const ExpressionId list = book_.add(List{separator(","), std::move(members)});
  return sequence({book_.bytes("{"), list, book_.bytes("}")});
}

ExpressionId JsonRules::array(std::vector<ListElement> items) {
  const ExpressionId list = book_.add(List{separator(","), std::move(items)});
  return sequence({book_.bytes("["), list, book_.bytes("]")});
}

Grammar compile_json(JsonRoot root, JsonSpaces spaces) {
  RuleBook book("json", {});
  const RuleId whole = book.add_rule("root");
  JsonRules rules(book, spaces);
  book.define(whole, root == JsonRoot::object ? rules.any_object() : rules.any_value());
  return Grammar(std::make_shared<const Automaton>(compile_automaton(book)));
}

}  // namespace parhelion::text
