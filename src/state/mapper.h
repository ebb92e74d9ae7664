#pragma once

#include "state/mapper_leaves.h"

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace parhelion::state {

struct Mapper;

/// Independent parts side by side. No name may be read twice or written twice.
struct Parallel {
  std::vector<Mapper> parts;
};

/// Stages one after another. A name that a later stage reads and no earlier one writes passes
/// through the earlier ones, and a name that a stage writes and the next does not read passes on.
struct Sequential {
  std::vector<Mapper> stages;
};

/// Of the groups of its parts side by side, sorted by their input names, each `count`-th one from
/// `index` on.
struct Shard {
  std::vector<Mapper> parts;
  std::int64_t count = 1;
  std::int64_t index = 0;
};

/// Its parts side by side, reading names with one prefix and writing names with another.
struct PrefixScope {
  std::string source;
  std::string target;
  std::vector<Mapper> parts;
};

/// What becomes of the tensors of a checkpoint: a plain description that `groups` turns into work.
struct Mapper {
  std::variant<Leaf, Parallel, Sequential, Shard, PrefixScope> node;

  Mapper(Parallel parallel) : node(std::move(parallel)) {}
  Mapper(Sequential sequential) : node(std::move(sequential)) {}
  Mapper(Shard shard) : node(std::move(shard)) {}
  Mapper(PrefixScope scope) : node(std::move(scope)) {}
  template <class OneLeaf>
  requires std::is_constructible_v<Leaf, OneLeaf> Mapper(OneLeaf leaf)
      : node(Leaf(std::move(leaf))) {}
};

/// Passes each of these names through.
Mapper identity(const std::vector<std::string>& names);

/// Passes `parent.x` through as `x`, for each name x.
Mapper select_child_modules(const std::vector<std::string>& names, const std::string& parent);

/// The mapper from this one's outputs back to its inputs.
///
/// Errors: invalid, naming the tensor, if a leaf has no inverse; invalid for `Shard`.
Mapper invert(const Mapper& mapper);

/// One leaf at work: the numbers are those of the values it takes and gives.
struct Step {
  Leaf leaf;
  std::vector<std::size_t> inputs;
  std::vector<std::size_t> outputs;
};

/// A value that enters or leaves a group, by its name outside.
struct Port {
  std::string name;
  std::size_t value = 0;
};

/// The smallest unit that can run alone: all of its inputs give all of its outputs.
struct Group {
  std::vector<Port> inputs;   ///< sorted by name
  std::vector<Port> outputs;  ///< sorted by name
  std::vector<Step> steps;    ///< in order
  std::size_t value_count = 0;
};

/// The independent groups of a mapper, in the order in which it names them. Renaming takes no step.
///
/// Errors: invalid, naming the tensors, if parts side by side read or write the same names, if a
///         name passes through a stage that reads or writes it itself, if a `Sequential` has no
///         stages, or if a `Shard` has an index outside [0, count).
std::vector<Group> groups(const Mapper& mapper);

/// The group that reads just these names.
///
/// Errors: invalid, naming them, if there is none.
const Group& group_reading(const std::vector<Group>& groups, std::vector<std::string> names);

/// Runs one group: takes its inputs in any order, gives its outputs sorted by name. Tensors that
/// are only renamed, reshaped or cut along their first dimension are views of the same bytes.
///
/// Errors: invalid if `tensors` are not the group's inputs, or as `transform`.
std::vector<TensorView> apply_group(const Group& group, std::vector<TensorView> tensors);

}  // namespace parhelion::state
