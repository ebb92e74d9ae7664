#include "train/optim/groups.h"

#include "base/error.h"
#include "train/config/name_pattern.h"

namespace parhelion::train {
namespace {

std::vector<NamePattern> group_patterns(const OptimizerSettings& settings) {
  std::vector<NamePattern> patterns;
  for (const OptimizerGroup& group : settings.groups) {
    patterns.emplace_back(group.match, fmt::format("optimizer.groups.{}.match", patterns.size()));
  }
  return patterns;
}

/// The first pattern that matches, or the number of patterns.
std::size_t first_match(const std::vector<NamePattern>& patterns, const std::string& name) {
  std::size_t index = 0;
  while (index < patterns.size() && !patterns[index].matches(name)) ++index;
  return index;
}

double default_decay(const OptimizerSettings& settings, const TrainedParameter& parameter) {
  const bool has_decay = !parameter.is_embedding && parameter.type.rank() > 1;
  return has_decay ? settings.weight_decay : 0.0;
}

}  // namespace

std::vector<UpdateScale> resolve_groups(const OptimizerSettings& settings,
                                        std::span<const TrainedParameter> parameters) {
  const std::vector<NamePattern> patterns = group_patterns(settings);
  std::vector<std::size_t> matches(patterns.size() + 1, 0);
  std::vector<UpdateScale> scales;
  for (const TrainedParameter& parameter : parameters) {
    const std::size_t index = first_match(patterns, parameter.name);
    ++matches[index];
    UpdateScale scale{1.0, default_decay(settings, parameter)};
    if (index < patterns.size()) {
      const OptimizerGroup& group = settings.groups[index];
      scale = {group.lr_scale, group.weight_decay.value_or(scale.weight_decay)};
    }
    scales.push_back(scale);
  }
  for (std::size_t index = 0; index < patterns.size(); ++index) {
    ensure(matches[index] > 0, ErrorKind::invalid,
           "optimizer.groups.{}.match: '{}' matches no parameter that groups before it leave",
           index, settings.groups[index].match);
  }
  return scales;
}

}  // namespace parhelion::train
