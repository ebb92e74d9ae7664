#pragma once

#include "base/error.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace parhelion::contract {

/// The numbers that a file has for the enumerators of one of our types.
template <class Ours, class Theirs, std::size_t count>
using EnumTable = std::array<std::pair<Ours, Theirs>, count>;

template <class Ours, class Theirs, std::size_t count>
Theirs to_file(const EnumTable<Ours, Theirs, count>& table, Ours value) {
  const auto row = std::ranges::find(table, value, &std::pair<Ours, Theirs>::first);
  ensure(row != table.end(), ErrorKind::bug, "contract: enumerator {} has no number",
         static_cast<int>(value));
  return row->second;
}

/// Errors: corrupt if nothing was given, unsupported for a number that this build does not know.
template <class Ours, class Theirs, std::size_t count>
Ours from_file(const EnumTable<Ours, Theirs, count>& table, Theirs number, std::string_view what) {
  const auto row = std::ranges::find(table, number, &std::pair<Ours, Theirs>::second);
  if (row != table.end()) return row->first;
  fail(number == 0 ? ErrorKind::corrupt : ErrorKind::unsupported,
       "CORE_CONTRACT_INVALID: {} is {}, which is {}", what, static_cast<int>(number),
       number == 0 ? "none" : "not known to this build");
}

}  // namespace parhelion::contract
