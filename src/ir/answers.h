#pragma once

#include "ir/tensor_type.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace parhelion::ir {

/// What an op does besides computing its outputs from its inputs.
enum class Effect : std::uint8_t {
  none,
  random,      ///< draws from a counter-based stream; a clone draws the same
  state,       ///< updates a buffer; is never recomputed
  collective,  ///< talks to other ranks
};

/// What an op promises about the bits of one row.
enum class Bits : std::uint8_t {
  row,    ///< equal at any capacity and batch
  chunk,  ///< equal when chunk boundaries are equal
  none,   ///< no promise
};

/// An output that is the next version of an input's buffer.
struct Tie {
  std::int8_t input = 0;
  std::int8_t output = 0;
  bool operator==(const Tie&) const = default;
};

/// Facts of a family, as data.
struct Traits {
  std::uint16_t family = 0;  ///< stored in files; never reused
  std::uint16_t version = 1;
  std::string_view name;
  std::vector<Tie> ties = {};
  Effect effect = Effect::none;
  Bits bits = Bits::row;
};

/// How an index space is treated.
enum class Fold : std::uint8_t {
  parallel,  ///< a result never depends on its extent or on other indices
  sum,       ///< folded by addition in a fixed order
  max,       ///< folded by maximum
  whole,     ///< needs all of it: neither split nor folded
};

/// One index space of an op: the dim of each operand that it runs over, -1 where it does not.
struct Factor {
  std::vector<std::int8_t> input_dim = {};
  std::vector<std::int8_t> output_dim = {};
  Fold how = Fold::parallel;
  std::int64_t fold_block =
      0;  ///< indices folded alone before blocks are merged ascending; 0 = one block
};

/// Work of one execution. Types must be numbers.
struct Cost {
  double flops = 0;
  double bytes = 0;
};

/// One attribute of an op struct: its name and member, for printing, hashing and encoding alike.
template <class Struct, class Member>
struct Field {
  std::string_view name;
  Member Struct::*member;
};

template <class Struct, class Member>
constexpr Field<Struct, Member> field(std::string_view name, Member Struct::*member) {
  return {name, member};
}

class GradientContext;

}  // namespace parhelion::ir
