#include "state/loader.h"

#include "base/error.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace parhelion::state {
namespace {

/// Places of names in the source's order.
using NamePlaces = std::unordered_map<std::string_view, std::size_t>;

NamePlaces places_of(const std::vector<std::string>& names) {
  NamePlaces places;
  for (std::size_t i = 0; i < names.size(); ++i) places.emplace(names[i], i);
  return places;
}

void check_all_there(const TensorSource& source, const std::vector<Group>& groups,
                     const NamePlaces& places) {
  std::vector<std::string> missing;
  for (const Group& group : groups) {
    for (const Port& port : group.inputs) {
      if (!places.contains(port.name)) missing.push_back(port.name);
    }
  }
  std::ranges::sort(missing);
  ensure(missing.empty(), ErrorKind::invalid, "{}: lacks {} of the tensors it should have: {}",
         source.where, missing.size(), names_text(missing));
}

void check_all_read(const TensorSource& source, const std::vector<Group>& groups,
                    const std::vector<IgnoreRule>& ignored) {
  std::unordered_set<std::string_view> read;
  for (const Group& group : groups)
    for (const Port& port : group.inputs) read.insert(port.name);
  std::vector<std::string> unknown;
  const auto is_ignored = [&](const std::string& name) {
    return std::ranges::any_of(ignored,
                               [&](const IgnoreRule& rule) { return matches(rule.pattern, name); });
  };
  for (const std::string& name : source.names) {
    if (!read.contains(name) && !is_ignored(name)) unknown.push_back(name);
  }
  std::ranges::sort(unknown);
  ensure(unknown.empty(), ErrorKind::invalid, "{}: has {} tensors that nothing reads: {}",
         source.where, unknown.size(), names_text(unknown));
}

/// Sorts groups by the place of their last input: each runs as soon as all of it is there.
void order_by_arrival(std::vector<Group>& groups, const NamePlaces& places) {
  std::ranges::stable_sort(groups, {}, [&](const Group& group) {
    std::size_t last = 0;
    for (const Port& port : group.inputs) last = std::max(last, places.at(port.name));
    return last;
  });
}

std::vector<TensorView> read_inputs(const TensorSource& source, const Group& group) {
  std::vector<TensorView> inputs;
  for (const Port& port : group.inputs) inputs.push_back(source.read(port.name));
  return inputs;
}

}  // namespace

TensorSource source_of(const Checkpoint& checkpoint) {
  return {checkpoint.where(), checkpoint.names(),
          [&checkpoint](const std::string& name) { return checkpoint.at(name); }};
}

bool matches(std::string_view pattern, std::string_view name) {
  std::size_t at = 0, next = 0;
  std::size_t star = std::string_view::npos, star_at = 0;
  while (at < name.size()) {
    if (next < pattern.size() && pattern[next] == '*') {
      star = next++;
      star_at = at;
    } else if (next < pattern.size() && pattern[next] == name[at]) {
      ++next;
      ++at;
    } else if (star != std::string_view::npos) {
      next = star + 1;
      at = ++star_at;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', next) == std::string_view::npos;
}

void load(const TensorSource& source, const Mapper& mapper, const std::vector<IgnoreRule>& ignored,
          const TensorSink& sink) {
  std::vector<Group> work = groups(mapper);
  const NamePlaces places = places_of(source.names);
  check_all_there(source, work, places);
  check_all_read(source, work, ignored);
  order_by_arrival(work, places);
  for (const Group& group : work) {
    for (TensorView& tensor : apply_group(group, read_inputs(source, group)))
      sink(std::move(tensor));
  }
}

void save(const TensorSource& source, const Mapper& mapper, const std::vector<IgnoreRule>& ignored,
          const std::filesystem::path& directory, std::int64_t shard_bytes) {
  SafetensorsWriter writer(directory, shard_bytes);
  load(source, mapper, ignored, [&](TensorView tensor) { writer.add(std::move(tensor)); });
  writer.finish();
}

}  // namespace parhelion::state
