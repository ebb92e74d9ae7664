#include "text/grammar/state_groups.h"

#include <algorithm>
#include <map>
#include <utility>

namespace parhelion::text {
namespace {

/// Splits groups by where the edges of their states lead, one byte further in each round. Of a
/// group that is split the largest part keeps the number, so that only states before the others
/// are looked at again.
class GroupSplitter {
 public:
  explicit GroupSplitter(const Automaton& automaton)
      : automaton_(automaton),
        groups_(automaton.states.size(), 0),
        sources_(groups_.size()),
        sizes_{static_cast<std::int64_t>(groups_.size())} {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const AutomatonState& state = automaton.states[i];
      for (const ByteEdge& edge : automaton.bytes_from(state)) add_source(edge.to, i);
      for (const RuleEdge& edge : automaton.rules_from(state)) add_source(edge.to, i);
      touched_.push_back(static_cast<StateIndex>(i));
    }
  }

  std::vector<std::int32_t> run(std::int64_t rounds) {
    for (std::int64_t round = 0; round <= rounds && !touched_.empty(); ++round) split_touched();
    return std::move(groups_);
  }

 private:
  using Signature = std::vector<std::int32_t>;

  void add_source(StateIndex to, std::size_t from) {
    sources_[static_cast<std::size_t>(to)].push_back(static_cast<StateIndex>(from));
  }

  std::int32_t group(StateIndex state) const { return groups_[static_cast<std::size_t>(state)]; }

  /// What a state does, by the groups of the last round.
  Signature sign(StateIndex index) const {
    const AutomatonState& state = automaton_.state(index);
    Signature signature = {group(index), state.rule.index, state.accepts ? 1 : 0,
                           state.byte_edge_count};
    for (const ByteEdge& edge : automaton_.bytes_from(state)) {
      signature.push_back(edge.first << 8 | edge.last);
      signature.push_back(group(edge.to));
    }
    for (const RuleEdge& edge : automaton_.rules_from(state)) {
      signature.push_back(edge.rule.index);
      signature.push_back(group(edge.to));
    }
    return signature;
  }

  void split_touched() {
    std::map<Signature, std::vector<StateIndex>> parts;
    for (const StateIndex state : touched_) parts[sign(state)].push_back(state);
    std::vector<StateIndex> moved;
    for (auto part = parts.begin(); part != parts.end();) {
      const std::int32_t group = part->first.front();
      auto end = part;
      while (end != parts.end() && end->first.front() == group) ++end;
      split_group(part, end, group, moved);
      part = end;
    }
    touch_sources(moved);
  }

  template <class Iterator>
  void split_group(Iterator first, Iterator end, std::int32_t group,
                   std::vector<StateIndex>& moved) {
    std::int64_t untouched = sizes_[static_cast<std::size_t>(group)];
    for (Iterator part = first; part != end; ++part) {
      untouched -= static_cast<std::int64_t>(part->second.size());
    }
    // Untouched states still agree with each other; they are one part and keep the number.
    Iterator keeps = end;
    if (untouched == 0) {
      keeps = std::max_element(first, end, [](const auto& a, const auto& b) {
        return a.second.size() < b.second.size();
      });
    }
    for (Iterator part = first; part != end; ++part) {
      if (part == keeps) continue;
      const auto size = static_cast<std::int64_t>(part->second.size());
      for (const StateIndex state : part->second) {
        groups_[static_cast<std::size_t>(state)] = static_cast<std::int32_t>(sizes_.size());
        moved.push_back(state);
      }
      sizes_[static_cast<std::size_t>(group)] -= size;
      sizes_.push_back(size);
    }
  }

  void touch_sources(const std::vector<StateIndex>& moved) {
    touched_.clear();
    for (const StateIndex state : moved) {
      const auto& sources = sources_[static_cast<std::size_t>(state)];
      touched_.insert(touched_.end(), sources.begin(), sources.end());
    }
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  }

  const Automaton& automaton_;
  std::vector<std::int32_t> groups_;
  std::vector<std::vector<StateIndex>> sources_;
  std::vector<StateIndex> touched_;
  std::vector<std::int64_t> sizes_;  // of each group
};

}  // namespace

std::vector<std::int32_t> group_states(const Automaton& automaton, std::int64_t bytes) {
  return GroupSplitter(automaton).run(bytes);
}

}  // namespace parhelion::text
