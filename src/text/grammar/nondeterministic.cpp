#include "text/grammar/nondeterministic.h"

#include "base/error.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace parhelion::text {

/// Adds the automaton of each expression between states.
class LooseBuilder {
 public:
  LooseBuilder(const RuleBook& book, LooseAutomata& out) : book_(book), out_(out) {}

  void build() {
    for (const NamedRule& rule : book_.rules()) {
      ensure(rule.body.index >= 0, ErrorKind::bug, "{}: rule {} is not defined", book_.where(),
             rule.name);
      const std::int32_t start = add_state();
      const std::int32_t end = lower(rule.body, start);
      out_.rules_.push_back({start, end});
    }
    sort_edges();
  }

 private:
  using Kind = LooseEdge::Kind;

  std::int32_t add_state() {
    ensure(states_ < book_.limits().states, ErrorKind::exhausted, "{}: needs more than {} states",
           book_.where(), book_.limits().states);
    return states_++;
  }
  void skip(std::int32_t from, std::int32_t to) { out_.edges_.push_back({from, to, {}, {}, {}}); }

  /// The end of an automaton of the expression that begins at `from`.
  std::int32_t lower(ExpressionId id, std::int32_t from) {
    ensure(++work_ <= book_.limits().work, ErrorKind::exhausted,
           "{}: needs more than {} steps to compile", book_.where(), book_.limits().work);
    return std::visit([&](const auto& expression) { return lower(expression, id, from); },
                      book_.at(id));
  }

  std::int32_t lower(const Bytes& literal, ExpressionId, std::int32_t from) {
    for (const char c : literal.bytes) {
      const auto byte = static_cast<std::uint8_t>(c);
      const std::int32_t to = add_state();
      out_.edges_.push_back({from, to, Kind::bytes, {byte, byte}, {}});
      from = to;
    }
    return from;
  }

  std::int32_t lower(const Points& points, ExpressionId id, std::int32_t from) {
    const auto [known, is_new] = words_.try_emplace(id.index);
    if (is_new) known->second = spell(points.set, points.spelling);
    const std::int32_t to = add_state();
    std::map<ByteWord, std::int32_t> suffixes;
    for (const ByteWord& word : known->second) {
      std::int32_t next = to;
      for (std::size_t i = word.size(); i-- > 1;) next = state_before(word, i, next, suffixes);
      add_class(from, word.front(), next);
    }
    return to;
  }

  /// The state from which the word's bytes from `at` on lead to the end.
  std::int32_t state_before(const ByteWord& word, std::size_t at, std::int32_t next,
                            std::map<ByteWord, std::int32_t>& suffixes) {
    const ByteWord suffix(word.begin() + static_cast<std::ptrdiff_t>(at), word.end());
    const auto [known, is_new] = suffixes.try_emplace(suffix, 0);
    if (!is_new) return known->second;
    known->second = add_state();
    add_class(known->second, word[at], next);
    return known->second;
  }

  void add_class(std::int32_t from, const ByteClass& bytes, std::int32_t to) {
    for (const ByteRange range : bytes) out_.edges_.push_back({from, to, Kind::bytes, range, {}});
  }

  std::int32_t lower(const Sequence& sequence, ExpressionId, std::int32_t from) {
    for (const ExpressionId part : sequence.parts) from = lower(part, from);
    return from;
  }

  std::int32_t lower(const Choice& choice, ExpressionId, std::int32_t from) {
    const std::int32_t to = add_state();
    for (const ExpressionId part : choice.parts) {
      const std::int32_t start = add_state();
      skip(from, start);
      skip(lower(part, start), to);
    }
    return to;
  }

  std::int32_t lower(const Repeat& repeat, ExpressionId, std::int32_t from) {
    for (std::int64_t i = 0; i < repeat.min; ++i) from = lower(repeat.part, from);
    if (!repeat.max) return lower_loop(repeat.part, from);
    const std::int32_t to = add_state();
    for (std::int64_t i = repeat.min; i < *repeat.max; ++i) {
      skip(from, to);
      const std::int32_t start = add_state();
      skip(from, start);
      from = lower(repeat.part, start);
    }
    skip(from, to);
    return to;
  }

  std::int32_t lower_loop(ExpressionId part, std::int32_t from) {
    const std::int32_t start = add_state();
    const std::int32_t to = add_state();
    skip(from, start);
    skip(lower(part, start), start);
    skip(start, to);
    return to;
  }

  /// Where a list stands: with nothing before it, or with something, after which a separator must
  /// come.
  struct Place {
    std::int32_t empty = 0;
    std::int32_t filled = 0;
  };

  std::int32_t lower(const List& list, ExpressionId, std::int32_t from) {
    Place at{from, add_state()};
    const std::int32_t end = add_state();
    for (const ListElement& element : list.elements) at = lower_element(list, element, at, end);
    skip(at.empty, end);
    skip(at.filled, end);
    return end;
  }

  Place lower_element(const List& list, const ListElement& element, Place at, std::int32_t end) {
    const std::int64_t copies = element.max.value_or(std::max<std::int64_t>(element.min, 1));
    for (std::int64_t i = 0; i < copies; ++i) {
      const Place next{add_state(), add_state()};
      const std::int32_t start = add_state();
      skip(at.empty, start);
      skip(lower(list.separator, at.filled), start);
      skip(lower(element.part, start), next.filled);
      if (i >= element.min) leave_out(element, at, next, end);
      if (!element.max && i + 1 == copies) skip(lower(list.separator, next.filled), start);
      at = next;
    }
    return at;
  }

  void leave_out(const ListElement& element, Place at, Place next, std::int32_t end) {
    const bool ends = element.leave_out == LeaveOut::with_rest;
    skip(at.empty, ends ? end : next.empty);
    skip(at.filled, ends ? end : next.filled);
  }

  std::int32_t lower(const Call& call, ExpressionId, std::int32_t from) {
    const std::int32_t to = add_state();
    out_.edges_.push_back({from, to, Kind::rule, {}, call.rule});
    return to;
  }

  void sort_edges() {
    std::stable_sort(out_.edges_.begin(), out_.edges_.end(),
                     [](const LooseEdge& a, const LooseEdge& b) { return a.from < b.from; });
    out_.first_edge_.assign(static_cast<std::size_t>(states_) + 1, 0);
    for (const LooseEdge& edge : out_.edges_) {
      ++out_.first_edge_[static_cast<std::size_t>(edge.from) + 1];
    }
    for (std::size_t i = 1; i < out_.first_edge_.size(); ++i) {
      out_.first_edge_[i] += out_.first_edge_[i - 1];
    }
  }

  const RuleBook& book_;
  LooseAutomata& out_;
  std::int32_t states_ = 0;
  std::int64_t work_ = 0;
  std::unordered_map<std::int32_t, std::vector<ByteWord>> words_;  // by expression
};

LooseAutomata::LooseAutomata(const RuleBook& book) { LooseBuilder(book, *this).build(); }

std::span<const LooseEdge> LooseAutomata::edges(std::int32_t state) const {
  const auto at = static_cast<std::size_t>(state);
  return std::span(edges_).subspan(first_edge_[at], first_edge_[at + 1] - first_edge_[at]);
}

}  // namespace parhelion::text
