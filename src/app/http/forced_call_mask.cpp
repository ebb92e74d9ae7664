#include "app/http/forced_call_mask.h"

#include "text/grammar/placed_schema.h"

#include <algorithm>

namespace parhelion::app {
namespace {

void set_bit(std::int32_t id, std::span<std::uint32_t> bits) {
  bits[static_cast<std::size_t>(id / 32)] |= std::uint32_t{1} << (id % 32);
}

}  // namespace

std::vector<text::ForcedCall> join_alike(std::vector<text::ForcedCall> calls) {
  std::vector<text::ForcedCall> joined;
  std::vector<Json::Array> schemas;
  for (text::ForcedCall& call : calls) {
    const auto is_alike = [&call](const text::ForcedCall& each) {
      return each.before == call.before && each.after == call.after;
    };
    const auto found = std::ranges::find_if(joined, is_alike);
    const auto index = static_cast<std::size_t>(found - joined.begin());
    if (found == joined.end()) schemas.emplace_back();
    schemas[index].push_back(std::move(call.schema));
    if (found == joined.end()) joined.push_back(std::move(call));
  }
  for (std::size_t i = 0; i < joined.size(); ++i)
    joined[i].schema = text::any_of_schemas(std::move(schemas[i]));
  return joined;
}

ForcedCallMask::ForcedCallMask(const std::vector<ForcedCallRule>& rules,
                               std::vector<std::int32_t> stop_ids)
    : stop_ids_(std::move(stop_ids)) {
  for (const ForcedCallRule& rule : rules) {
    ways_.push_back({.rule = rule});
    begin_arguments(ways_.back());
  }
}

/// The arguments end where what stands behind them begins.
void ForcedCallMask::begin_arguments(Way& way) const {
  if (way.before < way.rule.before.size()) return;
  const bool ends_there = way.rule.after.empty();
  way.matcher.emplace(way.rule.arguments,
                      ends_there ? stop_ids_ : std::vector<std::int32_t>{way.rule.after.front()});
}

void ForcedCallMask::fill(std::span<std::uint32_t> bits) {
  if (ways_.size() == 1 && ways_.front().matcher && !ways_.front().matcher->is_stopped())
    return ways_.front().matcher->fill_mask(bits);
  std::ranges::fill(bits, 0);
  one_.resize(bits.size());
  for (Way& way : ways_) allow(way, bits);
}

/// Sets what may come next in one way.
void ForcedCallMask::allow(Way& way, std::span<std::uint32_t> bits) {
  if (!way.matcher) return set_bit(way.rule.before[way.before], bits);
  if (way.matcher->is_stopped()) {
    if (way.after < way.rule.after.size()) return set_bit(way.rule.after[way.after], bits);
    for (const std::int32_t id : stop_ids_) set_bit(id, bits);
    return;
  }
  way.matcher->fill_mask(one_);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] |= one_[i];
}

void ForcedCallMask::accept(std::int32_t id) {
  std::erase_if(ways_, [&](Way& way) { return !follow(way, id); });
}

bool ForcedCallMask::is_whole() const {
  return std::ranges::any_of(ways_, [](const Way& way) {
    return way.matcher && way.matcher->is_stopped() && way.after == way.rule.after.size();
  });
}

/// False: the reply is not this one.
bool ForcedCallMask::follow(Way& way, std::int32_t id) const {
  if (!way.matcher) {
    if (way.rule.before[way.before] != id) return false;
    ++way.before;
    begin_arguments(way);
    return true;
  }
  if (!way.matcher->is_stopped()) {
    if (!way.matcher->accept(id)) return false;
    if (way.matcher->is_stopped()) way.after = 1;
    return true;
  }
  if (way.after < way.rule.after.size()) return way.rule.after[way.after++] == id;
  return std::ranges::find(stop_ids_, id) != stop_ids_.end();
}

}  // namespace parhelion::app
