#include "exec/cuda/ops/length_classes.h"

#include <algorithm>

namespace parhelion::exec::cuda {
namespace {

constexpr std::int64_t kFewSlots = 16;  // idle ones among them take no time worth a graph
constexpr std::int64_t kSlotStep = 8;

}  // namespace

std::vector<LengthClass> length_classes(std::int64_t tokens, std::int64_t documents,
                                        std::int64_t longest, std::int64_t least) {
  const double budget = std::max(2.0 * static_cast<double>(tokens) * static_cast<double>(longest),
                                 static_cast<double>(least));
  std::vector<LengthClass> classes;
  std::int64_t most = longest;
  while (true) {
    const double area = static_cast<double>(most) * static_cast<double>(most);
    const bool is_last = static_cast<double>(documents) * area <= budget || most <= 1 ||
                         std::ssize(classes) + 1 == kMostLengthClasses;
    const auto next =
        is_last ? 0
                : std::min(most - 1,
                           static_cast<std::int64_t>(static_cast<double>(tokens) * area / budget));
    const std::int64_t slots = std::min(documents, tokens / (next + 1));
    classes.push_back(
        {.slots = std::max<std::int64_t>(slots, 1), .shortest = next, .longest = most});
    if (next == 0) return classes;
    most = next;
  }
}

std::vector<std::int64_t> slot_choices(std::int64_t slots) {
  std::vector<std::int64_t> choices = {slots};
  while (choices.back() > kFewSlots && std::ssize(choices) < kMostSlotChoices)
    choices.push_back((choices.back() + kSlotStep - 1) / kSlotStep);
  std::ranges::reverse(choices);
  return choices;
}

}  // namespace parhelion::exec::cuda
