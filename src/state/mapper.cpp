#include "state/mapper.h"

#include "base/error.h"

#include <algorithm>
#include <iterator>

namespace parhelion::state {
namespace {

std::vector<Mapper> invert_all(const std::vector<Mapper>& mappers) {
  std::vector<Mapper> inverted;
  std::ranges::transform(mappers, std::back_inserter(inverted), invert);
  return inverted;
}

Mapper inverted(const Leaf& leaf) { return inverse(leaf); }

Mapper inverted(const Parallel& parallel) { return Parallel{invert_all(parallel.parts)}; }

Mapper inverted(const Sequential& sequential) {
  std::vector<Mapper> stages = invert_all(sequential.stages);
  std::ranges::reverse(stages);
  return Sequential{std::move(stages)};
}

Mapper inverted(const PrefixScope& scope) {
  return PrefixScope{scope.target, scope.source, invert_all(scope.parts)};
}

Mapper inverted(const Shard& shard) {
  fail(ErrorKind::invalid,
       "shard {} of {}: has no inverse, since outputs sort differently; shard the inverse instead",
       shard.index, shard.count);
}

}  // namespace

Mapper identity(const std::vector<std::string>& names) {
  Parallel all;
  for (const std::string& name : names) all.parts.emplace_back(Identity{name});
  return all;
}

Mapper select_child_modules(const std::vector<std::string>& names, const std::string& parent) {
  Parallel all;
  for (const std::string& name : names) all.parts.emplace_back(Rename{parent + "." + name, name});
  return all;
}

Mapper invert(const Mapper& mapper) {
  return std::visit([](const auto& node) { return inverted(node); }, mapper.node);
}

}  // namespace parhelion::state
