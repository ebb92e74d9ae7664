#include "text/grammar/state_mask.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace parhelion::text {
namespace {

NodeIndex context_node(RuleId rule) { return rule.index + 1; }

/// Reads the tokens from one state, whose rule was called by nobody knows whom. Beside the
/// positions inside the rule it keeps those that any caller might be in once the rule is left.
class StateMaskWalk {
 public:
  StateMaskWalk(const Automaton& automaton, const TokenTable& table, Stepper contexts,
                StateIndex state)
      : automaton_(automaton), table_(table), stepper_(std::move(contexts)), state_(state) {
    row_of_state_.assign(automaton.states.size(), -1);
    levels_.resize(static_cast<std::size_t>(table.max_token_bytes()) + 1);
    levels_[0].inside.push_back({state, Stepper::kBottom});
  }

  StateMask run() {
    const std::span<const TokenPlace> places = table_.places();
    for (std::size_t i = 0; i < places.size();) {
      const TokenPlace& place = places[i];
      const bool goes_on = enter(place);
      if (place.token_count > 0) note(place, static_cast<std::int32_t>(i));
      const bool takes_all = goes_on && takes_branch(place);
      if (takes_all) note_branch(place);
      i = goes_on && !takes_all ? i + 1 : static_cast<std::size_t>(place.end);
    }
    pack();
    return std::move(mask_);
  }

 private:
  struct Level {
    std::vector<Position> inside;
    std::vector<Position> outside;
    bool is_left = false;  // the rule may have been left just here
  };

  /// Where the bytes of a state lead.
  struct Row {
    std::array<StateIndex, 256> to;
    std::uint8_t own_groups = 0;  // groups all of whose bytes lead back to the state
  };

  const Row& row(StateIndex index) {
    std::int32_t& known = row_of_state_[static_cast<std::size_t>(index)];
    if (known < 0) {
      known = static_cast<std::int32_t>(rows_.size());
      rows_.push_back(make_row(index));
    }
    return rows_[static_cast<std::size_t>(known)];
  }

  Row make_row(StateIndex index) const {
    Row row;
    row.to.fill(-1);
    for (const ByteEdge& edge : automaton_.bytes_from(automaton_.state(index))) {
      std::fill(row.to.begin() + edge.first, row.to.begin() + edge.last + 1, edge.to);
    }
    row.own_groups = 0xFF;
    for (std::size_t byte = 0; byte < row.to.size(); ++byte) {
      if (row.to[byte] == index) continue;
      row.own_groups &=
          static_cast<std::uint8_t>(~(1 << byte_group(static_cast<std::uint8_t>(byte))));
    }
    return row;
  }

  /// The usual step, from one state to one that is neither an end nor before a rule. False if it is
  /// not of this kind.
  bool step_simply(const Level& from, std::uint8_t byte, Level& to) {
    if (from.inside.size() != 1 || !from.outside.empty()) return false;
    const Position position = from.inside.front();
    const StateIndex next = row(position.state).to[byte];
    const bool is_simple = next < 0 || (!automaton_.state(next).accepts &&
                                        automaton_.state(next).rule_edge_count == 0);
    if (!is_simple) return false;
    to.inside.clear();
    to.outside.clear();
    to.is_left = false;
    if (next >= 0) to.inside.push_back({next, position.node});
    return true;
  }

  /// Whether all tokens below a place stay in a state that leads to itself.
  bool takes_branch(const TokenPlace& place) {
    const std::vector<Position>& inside = levels_[place.depth].inside;
    return std::any_of(inside.begin(), inside.end(), [&](const Position& position) {
      return (place.groups_below & ~row(position.state).own_groups) == 0;
    });
  }

  void note_branch(const TokenPlace& place) {
    const std::span<const TokenPlace> places = table_.places();
    for (auto i = static_cast<std::size_t>(&place - places.data()) + 1;
         i < static_cast<std::size_t>(place.end); ++i) {
      for (const TokenId token : table_.tokens_at(places[i])) mask_.tokens.push_back(token);
    }
  }

  bool enter(const TokenPlace& place) {
    const Level& from = levels_[place.depth - std::size_t{1}];
    Level& to = levels_[place.depth];
    if (step_simply(from, place.byte, to)) return !to.inside.empty();
    stepper_.step(from.inside, place.byte, to.inside);
    const Position behind{automaton_.final_state, Stepper::kBottom};
    to.is_left = std::erase(to.inside, behind) > 0;
    step_outside(from, place.byte, to);
    return !to.inside.empty() || !to.outside.empty();
  }

  void step_outside(const Level& from, std::uint8_t byte, Level& to) {
    to.outside.clear();
    if (from.outside.empty() && !to.is_left) return;
    stepper_.step(from.outside, byte, to.outside);
    if (!to.is_left) return;
    const RuleId rule = automaton_.state(state_).rule;
    for (const Position& caller : stepper_.stacks().callers(context_node(rule))) {
      left_.push_back(caller);
    }
    stepper_.complete(left_);
    for (const Position& position : left_) {
      if (std::find(to.outside.begin(), to.outside.end(), position) == to.outside.end()) {
        to.outside.push_back(position);
      }
    }
    left_.clear();
  }

  void note(const TokenPlace& place, std::int32_t index) {
    const Level& level = levels_[place.depth];
    if (!level.inside.empty() || level.is_left) {
      for (const TokenId token : table_.tokens_at(place)) mask_.tokens.push_back(token);
    } else if (!level.outside.empty()) {
      note_in_context(place, index);
    }
  }

  void note_in_context(const TokenPlace& place, std::int32_t index) {
    const std::string_view bytes = table_.bytes(table_.tokens_at(place).front());
    const auto ends = std::mismatch(last_.begin(), last_.end(), bytes.begin(), bytes.end());
    const auto shared = static_cast<std::uint16_t>(ends.first - last_.begin());
    mask_.in_context.push_back({index, shared});
    last_ = bytes;
  }

  /// Many tokens take less memory as bits, and less time.
  void pack() {
    const auto word_count = static_cast<std::size_t>((table_.token_id_end() + 31) / 32);
    if (mask_.tokens.size() < word_count) {
      mask_.tokens.shrink_to_fit();
      return;
    }
    mask_.words.assign(word_count, 0);
    for (const TokenId token : mask_.tokens) {
      mask_.words[static_cast<std::size_t>(token) / 32] |= 1U << (token % 32);
    }
    mask_.tokens = {};
  }

  const Automaton& automaton_;
  const TokenTable& table_;
  Stepper stepper_;
  StateIndex state_;
  std::vector<Level> levels_;  // by depth
  std::vector<std::int32_t> row_of_state_;
  std::vector<Row> rows_;
  std::vector<Position> left_;
  std::string_view last_;
  StateMask mask_;
};

}  // namespace

Stepper make_contexts(const Automaton& automaton) {
  Stepper stepper(automaton);
  std::vector<std::vector<Position>> callers(automaton.rules.size());
  callers[0].push_back({automaton.final_state, Stepper::kBottom});
  for (const AutomatonState& state : automaton.states) {
    for (const RuleEdge& edge : automaton.rules_from(state)) {
      callers[static_cast<std::size_t>(edge.rule.index)].push_back(
          {edge.to, context_node(state.rule)});
    }
  }
  for (std::vector<Position>& of_rule : callers) {
    std::sort(of_rule.begin(), of_rule.end());
    of_rule.erase(std::unique(of_rule.begin(), of_rule.end()), of_rule.end());
    const NodeIndex node = stepper.stacks().add_open_node();
    stepper.stacks().set_callers(node, of_rule);
  }
  return stepper;
}

StateMask make_state_mask(const Automaton& automaton, const TokenTable& table, Stepper contexts,
                          StateIndex state) {
  return StateMaskWalk(automaton, table, std::move(contexts), state).run();
}

}  // namespace parhelion::text
