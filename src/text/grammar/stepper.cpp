#include "text/grammar/stepper.h"

#include "base/error.h"

#include <algorithm>

namespace parhelion::text {
namespace {

constexpr std::size_t kMaxPositions = 4096;
constexpr std::int64_t kMaxNodes = 1 << 22;

std::uint64_t hash_positions(std::span<const Position> positions) {
  std::uint64_t hash = positions.size();
  for (const Position& position : positions) {
    const auto state = static_cast<std::uint64_t>(static_cast<std::uint32_t>(position.state));
    const auto node = static_cast<std::uint64_t>(static_cast<std::uint32_t>(position.node));
    hash = (hash ^ (state << 32 | node)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 31;
  }
  return hash;
}

}  // namespace

NodeIndex CallStacks::intern(std::span<const Position> callers) {
  if (slots_.size() < nodes_.size() * 2 + 2) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_positions(callers) & mask;
  for (; slots_[slot] >= 0; slot = (slot + 1) & mask) {
    const std::span<const Position> known = this->callers(slots_[slot]);
    if (std::equal(known.begin(), known.end(), callers.begin(), callers.end())) {
      return slots_[slot];
    }
  }
  ensure(node_count() < kMaxNodes, ErrorKind::exhausted,
         "constrained text: nested in more than {} ways", kMaxNodes);
  const NodeIndex node = append(callers);
  slots_[slot] = node;
  return node;
}

NodeIndex CallStacks::add_open_node() { return append({}); }

void CallStacks::set_callers(NodeIndex node, std::span<const Position> callers) {
  nodes_[static_cast<std::size_t>(node)] = {static_cast<std::uint32_t>(callers_.size()),
                                            static_cast<std::uint32_t>(callers.size())};
  callers_.insert(callers_.end(), callers.begin(), callers.end());
}

NodeIndex CallStacks::append(std::span<const Position> callers) {
  nodes_.emplace_back();
  const auto node = static_cast<NodeIndex>(nodes_.size() - 1);
  set_callers(node, callers);
  return node;
}

void CallStacks::grow() {
  const std::vector<NodeIndex> old = std::move(slots_);
  slots_.assign(std::max<std::size_t>(64, old.size() * 2), -1);
  const std::size_t mask = slots_.size() - 1;
  for (const NodeIndex node : old) {
    if (node < 0) continue;
    std::size_t slot = hash_positions(callers(node)) & mask;
    while (slots_[slot] >= 0) slot = (slot + 1) & mask;
    slots_[slot] = node;
  }
}

Stepper::Stepper(const Automaton& automaton)
    : automaton_(&automaton), callers_(automaton.rules.size()) {
  const Position behind{automaton.final_state, kBottom};
  stacks_.set_callers(stacks_.add_open_node(), {&behind, 1});
}

void Stepper::start(std::vector<Position>& out) {
  out.clear();
  const AutomatonRule& whole = automaton_->rules.front();
  out.push_back({whole.start, kBottom});
  complete(out);
}

void Stepper::step(std::span<const Position> from, std::uint8_t byte, std::vector<Position>& out) {
  out.clear();
  for (const Position& position : from) {
    for (const ByteEdge& edge : automaton_->bytes_from(automaton_->state(position.state))) {
      if (byte < edge.first || byte > edge.last) continue;
      add_position({edge.to, position.node}, out);
      break;
    }
  }
  if (!out.empty()) complete(out);
}

void Stepper::complete(std::vector<Position>& out) {
  leave_rules(out);
  enter_rules(out);
  std::erase_if(out, [this](const Position& position) {
    return automaton_->state(position.state).byte_edge_count == 0 &&
           position.state != automaton_->final_state;
  });
}

void Stepper::add_position(Position position, std::vector<Position>& out) const {
  if (std::find(out.begin(), out.end(), position) != out.end()) return;
  ensure(out.size() < kMaxPositions, ErrorKind::exhausted,
         "constrained text: can be read in more than {} ways", kMaxPositions);
  out.push_back(position);
}

void Stepper::leave_rules(std::vector<Position>& out) const {
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!automaton_->state(out[i].state).accepts) continue;
    for (const Position& caller : stacks_.callers(out[i].node)) add_position(caller, out);
  }
}

void Stepper::forget_pending() {
  pending_.clear();
  for (std::vector<Position>& callers : callers_) callers.clear();
}

void Stepper::enter_rules(std::vector<Position>& out) {
  if (is_entering_) forget_pending();
  is_entering_ = true;
  for (const Position& position : out) call_rules_from(position);
  const auto comes_later = [](const PendingRule& a, const PendingRule& b) {
    return a.rank > b.rank;
  };
  std::make_heap(pending_.begin(), pending_.end(), comes_later);
  while (!pending_.empty()) {
    std::pop_heap(pending_.begin(), pending_.end(), comes_later);
    const RuleId rule = pending_.back().rule;
    pending_.pop_back();
    std::vector<Position>& callers = callers_[static_cast<std::size_t>(rule.index)];
    std::sort(callers.begin(), callers.end());
    callers.erase(std::unique(callers.begin(), callers.end()), callers.end());
    const Position start{automaton_->rule(rule).start, stacks_.intern(callers)};
    callers.clear();
    if (automaton_->state(start.state).byte_edge_count > 0) add_position(start, out);
    const std::size_t pending = pending_.size();
    call_rules_from(start);
    for (std::size_t end = pending + 1; end <= pending_.size(); ++end) {
      std::push_heap(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(end),
                     comes_later);
    }
  }
  is_entering_ = false;
}

void Stepper::call_rules_from(const Position& position) {
  for (const RuleEdge& edge : automaton_->rules_from(automaton_->state(position.state))) {
    add_caller(edge.rule, {edge.to, position.node});
  }
}

void Stepper::add_caller(RuleId rule, Position caller) {
  std::vector<Position>& callers = callers_[static_cast<std::size_t>(rule.index)];
  if (callers.empty()) pending_.push_back({automaton_->rule(rule).rank, rule});
  const AutomatonState& state = automaton_->state(caller.state);
  const bool only_ends = state.accepts && state.byte_edge_count == 0 && state.rule_edge_count == 0;
  if (!only_ends) {
    callers.push_back(caller);
    return;
  }
  // Nothing is left to do behind the rule: its callers are those of the rule that calls.
  const std::span<const Position> outer = stacks_.callers(caller.node);
  callers.insert(callers.end(), outer.begin(), outer.end());
}

}  // namespace parhelion::text
