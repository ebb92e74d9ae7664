#include "text/grammar/grammar.h"

#include "base/error.h"
#include "text/grammar/automaton.h"
#include "text/grammar/regex_grammar.h"
#include "text/utf8.h"

namespace parhelion::text {
namespace {

template <class Element>
std::int64_t vector_bytes(const std::vector<Element>& elements) {
  return static_cast<std::int64_t>(elements.capacity() * sizeof(Element));
}

}  // namespace

std::int64_t Grammar::state_count() const {
  return static_cast<std::int64_t>(automaton_->states.size());
}

std::int64_t Grammar::memory_bytes() const {
  return vector_bytes(automaton_->states) + vector_bytes(automaton_->byte_edges) +
         vector_bytes(automaton_->rule_edges) + vector_bytes(automaton_->rules);
}

Grammar compile_regex(std::string_view pattern, const GrammarLimits& limits) {
  RuleBook book("regex", limits);
  const RuleId root = book.add_rule("root");
  book.define(root, add_regex(book, pattern, {}));
  return Grammar(std::make_shared<const Automaton>(compile_automaton(book)));
}

Grammar compile_choice(std::span<const std::string> texts, const GrammarLimits& limits) {
  RuleBook book("choice", limits);
  ensure(!texts.empty(), ErrorKind::invalid, "choice: no texts, expected at least one");
  std::int64_t bytes = 0;
  Choice choice;
  const RuleId root = book.add_rule("root");
  for (const std::string& text : texts) {
    bytes += static_cast<std::int64_t>(text.size());
    ensure(bytes <= limits.source_bytes, ErrorKind::exhausted, "choice: more than {} bytes",
           limits.source_bytes);
    ensure(find_invalid_utf8(text) == std::string_view::npos, ErrorKind::invalid,
           "choice: text {} is no UTF-8", choice.parts.size());
    choice.parts.push_back(book.bytes(text));
  }
  book.define(root, book.add(std::move(choice)));
  return Grammar(std::make_shared<const Automaton>(compile_automaton(book)));
}

}  // namespace parhelion::text
