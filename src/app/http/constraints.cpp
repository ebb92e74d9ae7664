#include "app/http/constraints.h"

#include "app/http/api_error.h"
#include "text/grammar/grammar.h"
#include "text/grammar/json_schema.h"

#include <algorithm>

namespace parhelion::app {
namespace {

using Kind = Constraint::Kind;

constexpr std::size_t kKept = 64;  // grammars

std::vector<std::string> choice_texts(const std::string& list) {
  std::vector<std::string> texts;
  const Json json = parse_json(list, "choice");
  for (const Json& text : json.as_array("choice")) texts.push_back(text.as_string("choice"));
  return texts;
}

text::Grammar compile_source(const Constraint& constraint) {
  switch (constraint.kind) {
    case Kind::json_object:
      return text::compile_json(text::JsonRoot::object);
    case Kind::json_schema:
      return text::compile_json_schema(parse_json(constraint.source, "schema"));
    case Kind::regex:
      return text::compile_regex(constraint.source);
    case Kind::choice:
      return text::compile_choice(choice_texts(constraint.source));
    case Kind::grammar:
      return text::compile_grammar_text(constraint.source);
    case Kind::none:
      break;
  }
  fail(ErrorKind::bug, "constraint: none was compiled");
}

text::Grammar compile_or_refuse(const Constraint& constraint) {
  try {
    return compile_source(constraint);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::exhausted) refuse(400, "schema_too_complex", error.what());
    if (error.kind() == ErrorKind::unsupported) refuse(400, "unsupported_feature", error.what());
    refuse(400, "invalid_schema", error.what());
  }
}

/// The schema of a format: beside its type, or within `json_schema`.
Constraint schema_of(const Json& format, std::string_view where) {
  const Json* inner = format.find("json_schema");
  const Json* schema = inner == nullptr ? format.find("schema") : inner->find("schema");
  if (schema == nullptr || !(schema->is_object() || schema->is_bool()))
    refuse_value(where, fmt::format("{}: has no schema", where));
  return {Kind::json_schema, write_json(*schema)};
}

}  // namespace

Constraint read_format(const Json& format, std::string_view where) {
  const Json* type = format.find("type");
  if (type == nullptr || !type->is_string())
    refuse_value(where, fmt::format("{}: expected an object with a type", where));
  const std::string& name = type->as_string(where);
  if (name == "text") return {};
  if (name == "json_object") return {Kind::json_object, {}};
  if (name == "json_schema") return schema_of(format, where);
  refuse_value(where, fmt::format("{}: type is '{}', expected text, json_object or json_schema",
                                  where, name.substr(0, 40)));
}

Constraint read_constraint(Fields& fields) {
  std::vector<Constraint> given;
  if (const Json* format = fields.find("response_format"))
    given.push_back(read_format(*format, "response_format"));
  if (const auto pattern = fields.text("regex")) given.push_back({Kind::regex, *pattern});
  if (const auto source = fields.text("grammar")) given.push_back({Kind::grammar, *source});
  if (fields.has("choice")) {
    Json::Array texts;
    for (std::string& each : fields.texts("choice", 10'000)) texts.emplace_back(std::move(each));
    given.push_back({Kind::choice, write_json(texts)});
  }
  std::erase_if(given, [](const Constraint& each) { return each.kind == Kind::none; });
  if (given.size() > 1)
    refuse_value("response_format",
                 "response_format, regex, choice and grammar: expected one of them");
  return given.empty() ? Constraint{} : given.front();
}

std::shared_ptr<const text::TokenGrammar> ConstraintCompiler::find(const Constraint& constraint) {
  const std::lock_guard lock(mutex_);
  const auto is_same = [&](const Entry& entry) { return entry.constraint == constraint; };
  const auto found = std::ranges::find_if(entries_, is_same);
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  ++hits_;
  return found->grammar;
}

std::shared_ptr<const text::TokenGrammar> ConstraintCompiler::compile(
    const Constraint& constraint) {
  if (constraint.kind == Kind::none) return nullptr;
  if (auto found = find(constraint)) return found;
  auto made = std::make_shared<const text::TokenGrammar>(compile_or_refuse(constraint), table_);
  const std::lock_guard lock(mutex_);
  entries_.push_front({constraint, made});
  if (entries_.size() > kKept) entries_.pop_back();
  return made;
}

}  // namespace parhelion::app
