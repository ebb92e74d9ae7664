#pragma once

#include "app/http/fields.h"
#include "text/grammar/token_grammar.h"

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace parhelion::app {

/// What an answer's text is held to.
struct Constraint {
  enum class Kind : std::uint8_t { none, json_object, json_schema, regex, choice, grammar };
  Kind kind = Kind::none;
  std::string source = {};  ///< schema, pattern or grammar; the texts of a choice as a JSON list
  bool operator==(const Constraint&) const = default;
};

/// What a request asks for: OpenAI's `response_format`, or one of `regex`, `choice`, `grammar`.
///
/// Errors: 400 `invalid_value` if it is malformed or several are there.
Constraint read_constraint(Fields& fields);
/// A format object such as `{"type": "json_schema", "json_schema": {"schema": ...}}`, or with its
/// schema beside the type.
Constraint read_format(const Json& format, std::string_view where);

/// Compiles constraints and remembers the last ones.
///
/// Threads: any.
class ConstraintCompiler {
 public:
  explicit ConstraintCompiler(const text::Tokenizer& tokenizer)
      : table_(text::make_token_table(tokenizer)) {}

  /// Null for none.
  ///
  /// Errors: 400 `invalid_schema`, `schema_too_complex`, `unsupported_feature`.
  std::shared_ptr<const text::TokenGrammar> compile(const Constraint& constraint);
  std::int64_t hits() const { return hits_; }

 private:
  struct Entry {
    Constraint constraint;
    std::shared_ptr<const text::TokenGrammar> grammar;
  };
  std::shared_ptr<const text::TokenGrammar> find(const Constraint& constraint);

  std::shared_ptr<const text::TokenTable> table_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // guarded by mutex_; the last used first
  std::atomic<std::int64_t> hits_ = 0;
};

}  // namespace parhelion::app
