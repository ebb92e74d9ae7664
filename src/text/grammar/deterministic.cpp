#include "text/grammar/deterministic.h"

#include "base/error.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

namespace parhelion::text {
namespace {

using LooseStates = std::vector<std::int32_t>;

struct LooseStatesHash {
  std::size_t operator()(const LooseStates& states) const {
    std::uint64_t hash = states.size();
    for (const std::int32_t state : states) {
      hash = (hash ^ static_cast<std::uint64_t>(state)) * 0x9E3779B97F4A7C15U;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

/// Finds which rules match the empty text: those whose end is reached over nothing and over such
/// rules.
class EmptyRules {
 public:
  explicit EmptyRules(const LooseAutomata& loose)
      : loose_(loose),
        is_empty_(loose.rules().size(), false),
        waiting_(loose.rules().size()),
        rule_of_end_(static_cast<std::size_t>(loose.state_count()), -1),
        is_reached_(static_cast<std::size_t>(loose.state_count()), false) {}

  std::vector<bool> find() {
    for (std::size_t rule = 0; rule < is_empty_.size(); ++rule) {
      rule_of_end_[static_cast<std::size_t>(loose_.rules()[rule].end)] =
          static_cast<std::int32_t>(rule);
    }
    for (const LooseRule& rule : loose_.rules()) reach(rule.start);
    return std::move(is_empty_);
  }

 private:
  void reach(std::int32_t first) {
    LooseStates open = {first};
    while (!open.empty()) {
      const std::int32_t at = open.back();
      open.pop_back();
      if (is_reached_[static_cast<std::size_t>(at)]) continue;
      is_reached_[static_cast<std::size_t>(at)] = true;
      for (const LooseEdge& edge : loose_.edges(at)) pass(edge, open);
      finish(rule_of_end_[static_cast<std::size_t>(at)], open);
    }
  }

  void pass(const LooseEdge& edge, LooseStates& open) {
    const auto rule = static_cast<std::size_t>(edge.rule.index);
    const bool is_rule = edge.kind == LooseEdge::Kind::rule;
    if (edge.kind == LooseEdge::Kind::nothing || (is_rule && is_empty_[rule])) {
      open.push_back(edge.to);
    } else if (is_rule) {
      waiting_[rule].push_back(edge.to);
    }
  }

  void finish(std::int32_t rule, LooseStates& open) {
    if (rule < 0) return;
    const auto at = static_cast<std::size_t>(rule);
    is_empty_[at] = true;
    open.insert(open.end(), waiting_[at].begin(), waiting_[at].end());
    waiting_[at].clear();
  }

  const LooseAutomata& loose_;
  std::vector<bool> is_empty_;
  std::vector<LooseStates> waiting_;  // behind edges over each rule
  std::vector<std::int32_t> rule_of_end_;
  std::vector<bool> is_reached_;
};

class Determinizer {
 public:
  Determinizer(const LooseAutomata& loose, const RuleBook& book)
      : loose_(loose), book_(book), seen_(static_cast<std::size_t>(loose.state_count()), 0) {
    draft_.can_be_empty = EmptyRules(loose).find();
  }

  DraftAutomaton run() {
    for (std::size_t rule = 0; rule < loose_.rules().size(); ++rule) {
      rule_ = {static_cast<std::int32_t>(rule)};
      end_ = loose_.rules()[rule].end;
      known_.clear();
      open_.clear();
      draft_.starts.push_back(find_or_add({loose_.rules()[rule].start}));
      while (!open_.empty()) {
        const auto [index, states] = std::move(open_.back());
        open_.pop_back();
        expand(index, states);
      }
    }
    return std::move(draft_);
  }

 private:
  void spend(std::size_t steps) {
    work_ += static_cast<std::int64_t>(steps);
    ensure(work_ <= book_.limits().work, ErrorKind::exhausted,
           "{}: needs more than {} steps to compile", book_.where(), book_.limits().work);
  }

  /// All states that are reached over nothing, of which only those matter that do something.
  LooseStates close(LooseStates open) {
    LooseStates closed;
    ++stamp_;
    for (std::size_t steps = 1; !open.empty(); ++steps) {
      const std::int32_t at = open.back();
      open.pop_back();
      if (std::exchange(seen_[static_cast<std::size_t>(at)], stamp_) == stamp_) continue;
      bool matters = at == end_;
      for (const LooseEdge& edge : loose_.edges(at)) {
        const bool is_rule = edge.kind == LooseEdge::Kind::rule;
        if (edge.kind != LooseEdge::Kind::nothing) matters = true;
        if (edge.kind == LooseEdge::Kind::nothing ||
            (is_rule && draft_.can_be_empty[static_cast<std::size_t>(edge.rule.index)])) {
          open.push_back(edge.to);
        }
      }
      if (matters) closed.push_back(at);
      spend(1);
    }
    std::sort(closed.begin(), closed.end());
    return closed;
  }

  StateIndex find_or_add(LooseStates from) {
    LooseStates states = close(std::move(from));
    const auto next = static_cast<StateIndex>(draft_.states.size());
    const auto [known, is_new] = known_.try_emplace(states, next);
    if (!is_new) return known->second;
    ensure(next < book_.limits().states, ErrorKind::exhausted, "{}: needs more than {} states",
           book_.where(), book_.limits().states);
    DraftState& state = draft_.states.emplace_back();
    state.rule = rule_;
    state.accepts = std::binary_search(states.begin(), states.end(), end_);
    open_.emplace_back(next, std::move(states));
    return next;
  }

  void expand(StateIndex index, const LooseStates& states) {
    std::vector<LooseEdge> byte_edges;
    std::map<RuleId, LooseStates> by_rule;
    for (const std::int32_t state : states) {
      for (const LooseEdge& edge : loose_.edges(state)) {
        if (edge.kind == LooseEdge::Kind::bytes) byte_edges.push_back(edge);
        if (edge.kind == LooseEdge::Kind::rule) by_rule[edge.rule].push_back(edge.to);
      }
    }
    expand_bytes(index, byte_edges);
    for (auto& [rule, targets] : by_rule) {
      const StateIndex to = find_or_add(std::move(targets));
      draft_.states[static_cast<std::size_t>(index)].rule_edges.push_back({rule, to});
    }
  }

  /// Cuts the bytes where an edge begins or ends: between two cuts all bytes lead to the same
  /// states.
  void expand_bytes(StateIndex index, const std::vector<LooseEdge>& edges) {
    std::array<bool, 257> is_cut{};
    for (const LooseEdge& edge : edges) {
      is_cut[edge.bytes.first] = true;
      is_cut[std::size_t{edge.bytes.last} + 1] = true;
    }
    std::array<LooseStates, 256> targets;
    for (const LooseEdge& edge : edges) {
      for (std::size_t byte = edge.bytes.first; byte <= edge.bytes.last; ++byte) {
        if (is_cut[byte]) targets[byte].push_back(edge.to);
      }
    }
    spend(edges.size());
    for (std::size_t first = 0; first < 256;) {
      std::size_t end = first + 1;
      while (end < 256 && !is_cut[end]) ++end;
      if (!targets[first].empty()) {
        add_byte_edge(index, first, end - 1, find_or_add(std::move(targets[first])));
      }
      first = end;
    }
  }

  void add_byte_edge(StateIndex index, std::size_t first, std::size_t last, StateIndex to) {
    std::vector<ByteEdge>& edges = draft_.states[static_cast<std::size_t>(index)].byte_edges;
    const bool joins =
        !edges.empty() && edges.back().to == to && std::size_t{edges.back().last} + 1 == first;
    if (joins) {
      edges.back().last = static_cast<std::uint8_t>(last);
    } else {
      edges.push_back({static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(last), to});
    }
  }

  const LooseAutomata& loose_;
  const RuleBook& book_;
  DraftAutomaton draft_;
  RuleId rule_;
  std::int32_t end_ = 0;
  std::unordered_map<LooseStates, StateIndex, LooseStatesHash> known_;  // of this rule
  std::vector<std::pair<StateIndex, LooseStates>> open_;
  std::vector<std::uint32_t> seen_;  // by loose state: the stamp of the last closure with it
  std::uint32_t stamp_ = 0;
  std::int64_t work_ = 0;
};

}  // namespace

DraftAutomaton determinize(const LooseAutomata& loose, const RuleBook& book) {
  return Determinizer(loose, book).run();
}

}  // namespace parhelion::text
