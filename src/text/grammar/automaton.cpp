#include "text/grammar/automaton.h"

#include "base/error.h"
#include "text/grammar/deterministic.h"

#include <algorithm>
#include <utility>

namespace parhelion::text {
namespace {

std::size_t draft_slot(StateIndex state) { return static_cast<std::size_t>(state); }
std::size_t draft_slot(RuleId rule) { return static_cast<std::size_t>(rule.index); }

/// From which states their rule can be finished: backwards along edges, where an edge over a rule
/// counts once that rule can be finished from its start.
class LiveStates {
 public:
  explicit LiveStates(const DraftAutomaton& draft)
      : draft_(draft), is_live_(draft.states.size(), false) {
    sources_.resize(draft.states.size());
    waiting_.resize(draft.starts.size());
    for (std::size_t i = 0; i < draft.states.size(); ++i) {
      const auto from = static_cast<StateIndex>(i);
      for (const ByteEdge& edge : draft.states[i].byte_edges)
        sources_[draft_slot(edge.to)].push_back(from);
      for (const RuleEdge& edge : draft.states[i].rule_edges) {
        waiting_[draft_slot(edge.rule)].emplace_back(from, edge.to);
      }
    }
  }

  std::vector<bool> find() {
    for (std::size_t i = 0; i < draft_.states.size(); ++i) {
      if (draft_.states[i].accepts) revive(static_cast<StateIndex>(i));
    }
    return std::move(is_live_);
  }

 private:
  void revive(StateIndex first) {
    std::vector<StateIndex> open = {first};
    while (!open.empty()) {
      const StateIndex state = open.back();
      open.pop_back();
      if (is_live_[draft_slot(state)]) continue;
      is_live_[draft_slot(state)] = true;
      open.insert(open.end(), sources_[draft_slot(state)].begin(),
                  sources_[draft_slot(state)].end());
      const RuleId rule = draft_.states[draft_slot(state)].rule;
      if (draft_.starts[draft_slot(rule)] != state) continue;
      // Edges over this rule are edges from now on.
      for (const auto& [from, to] : std::exchange(waiting_[draft_slot(rule)], {})) {
        sources_[draft_slot(to)].push_back(from);
        if (is_live_[draft_slot(to)]) open.push_back(from);
      }
    }
  }

  const DraftAutomaton& draft_;
  std::vector<bool> is_live_;
  std::vector<std::vector<StateIndex>> sources_;                         // of each state
  std::vector<std::vector<std::pair<StateIndex, StateIndex>>> waiting_;  // edges over each rule
};

void drop_dead_edges(DraftAutomaton& draft, const std::vector<bool>& is_live) {
  for (DraftState& state : draft.states) {
    std::erase_if(state.byte_edges,
                  [&](const ByteEdge& edge) { return !is_live[draft_slot(edge.to)]; });
    std::erase_if(state.rule_edges, [&](const RuleEdge& edge) {
      return !is_live[draft_slot(edge.to)] ||
             !is_live[draft_slot(draft.starts[draft_slot(edge.rule)])];
    });
  }
}

/// The states that are reached from the start of rule 0, through edges and into rules, in the order
/// of their numbers.
std::vector<StateIndex> reached_states(const DraftAutomaton& draft) {
  std::vector<bool> is_reached(draft.states.size(), false);
  std::vector<StateIndex> open = {draft.starts.front()};
  while (!open.empty()) {
    const StateIndex state = open.back();
    open.pop_back();
    if (is_reached[draft_slot(state)]) continue;
    is_reached[draft_slot(state)] = true;
    for (const ByteEdge& edge : draft.states[draft_slot(state)].byte_edges) open.push_back(edge.to);
    for (const RuleEdge& edge : draft.states[draft_slot(state)].rule_edges) {
      open.push_back(edge.to);
      open.push_back(draft.starts[draft_slot(edge.rule)]);
    }
  }
  std::vector<StateIndex> reached;
  for (std::size_t i = 0; i < is_reached.size(); ++i) {
    if (is_reached[i]) reached.push_back(static_cast<StateIndex>(i));
  }
  return reached;
}

/// Numbers rules so that each comes after those that may begin with it.
class RuleRanks {
 public:
  RuleRanks(const DraftAutomaton& draft, const RuleBook& book) : draft_(draft), book_(book) {}

  std::vector<std::int32_t> find() {
    marks_.assign(draft_.starts.size(), Mark::unseen);
    std::vector<std::int32_t> ranks(draft_.starts.size(), 0);
    for (std::size_t rule = 0; rule < marks_.size(); ++rule) {
      if (marks_[rule] == Mark::unseen) visit({static_cast<std::int32_t>(rule)});
    }
    auto rank = static_cast<std::int32_t>(finished_.size());
    for (const RuleId rule : finished_) ranks[draft_slot(rule)] = --rank;
    return ranks;
  }

 private:
  enum class Mark : std::uint8_t { unseen, open, done };
  struct Visit {
    RuleId rule;
    std::size_t next_edge = 0;
  };

  void visit(RuleId first) {
    std::vector<Visit> path = {{first}};
    marks_[draft_slot(first)] = Mark::open;
    while (!path.empty()) {
      const RuleId rule = path.back().rule;
      const auto& edges = draft_.states[draft_slot(draft_.starts[draft_slot(rule)])].rule_edges;
      if (path.back().next_edge == edges.size()) {
        marks_[draft_slot(rule)] = Mark::done;
        finished_.push_back(rule);
        path.pop_back();
        continue;
      }
      const RuleId next = edges[path.back().next_edge++].rule;
      ensure(marks_[draft_slot(next)] != Mark::open, ErrorKind::invalid,
             "{}: rule {} is left-recursive: it begins with itself", book_.where(),
             book_.rules()[draft_slot(next)].name);
      if (marks_[draft_slot(next)] == Mark::done) continue;
      marks_[draft_slot(next)] = Mark::open;
      path.push_back({next});
    }
  }

  const DraftAutomaton& draft_;
  const RuleBook& book_;
  std::vector<Mark> marks_;
  std::vector<RuleId> finished_;  // each before those that may begin with it
};

/// Packs the states in `kept` into the final form.
Automaton pack(const DraftAutomaton& draft, const std::vector<StateIndex>& kept) {
  std::vector<StateIndex> renamed(draft.states.size(), -1);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    renamed[draft_slot(kept[i])] = static_cast<StateIndex>(i);
  }
  Automaton automaton;
  for (const StateIndex index : kept) {
    const DraftState& state = draft.states[draft_slot(index)];
    automaton.states.push_back(
        {.first_byte_edge = static_cast<std::int32_t>(automaton.byte_edges.size()),
         .byte_edge_count = static_cast<std::int32_t>(state.byte_edges.size()),
         .first_rule_edge = static_cast<std::int32_t>(automaton.rule_edges.size()),
         .rule_edge_count = static_cast<std::int32_t>(state.rule_edges.size()),
         .rule = state.rule,
         .accepts = state.accepts});
    for (const ByteEdge& edge : state.byte_edges) {
      automaton.byte_edges.push_back({edge.first, edge.last, renamed[draft_slot(edge.to)]});
    }
    for (const RuleEdge& edge : state.rule_edges) {
      automaton.rule_edges.push_back({edge.rule, renamed[draft_slot(edge.to)]});
    }
  }
  automaton.final_state = static_cast<StateIndex>(automaton.states.size());
  automaton.states.push_back({.rule = {0}, .accepts = false});
  for (const StateIndex start : draft.starts) {
    automaton.rules.emplace_back().start = renamed[draft_slot(start)];
  }
  return automaton;
}

}  // namespace

Automaton compile_automaton(const RuleBook& book) {
  DraftAutomaton draft = determinize(LooseAutomata(book), book);
  const std::vector<bool> is_live = LiveStates(draft).find();
  ensure(is_live[draft_slot(draft.starts.front())], ErrorKind::invalid, "{}: no text matches",
         book.where());
  drop_dead_edges(draft, is_live);
  const std::vector<std::int32_t> ranks = RuleRanks(draft, book).find();
  Automaton automaton = pack(draft, reached_states(draft));
  for (std::size_t rule = 0; rule < ranks.size(); ++rule) {
    automaton.rules[rule].name = book.rules()[rule].name;
    automaton.rules[rule].rank = ranks[rule];
    automaton.rules[rule].can_be_empty = draft.can_be_empty[rule];
  }
  return automaton;
}

}  // namespace parhelion::text
