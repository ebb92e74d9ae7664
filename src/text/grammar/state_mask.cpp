#include "text/grammar/state_mask.h"

#include <algorithm>
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
    levels_.resize(static_cast<std::size_t>(table.max_token_bytes()) + 1);
    levels_[0].inside.push_back({state, Stepper::kBottom});
  }

  StateMask run() {
    const std::span<const TokenPlace> places = table_.places();
    for (std::size_t i = 0; i < places.size();) {
      const TokenPlace& place = places[i];
      const bool goes_on = enter(place);
      if (place.token_count > 0) note(place, static_cast<std::int32_t>(i));
      i = goes_on ? i + 1 : static_cast<std::size_t>(place.end);
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

  bool enter(const TokenPlace& place) {
    const Level& from = levels_[place.depth - std::size_t{1}];
    Level& to = levels_[place.depth];
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
