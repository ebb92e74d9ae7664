#include "text/grammar/code_point_set.h"

#include <algorithm>

namespace parhelion::text {
namespace {

constexpr char32_t kBeforeSurrogates = 0xD7FF;
constexpr char32_t kBehindSurrogates = 0xE000;
constexpr char32_t kLastCodePoint = 0x10FFFF;

}  // namespace

CodePointSet CodePointSet::all() { return {0, kLastCodePoint}; }

CodePointSet::CodePointSet(const std::vector<CodePointRange>& ranges) {
  for (const CodePointRange& range : ranges) push(range);
  normalize();
}

/// Without surrogates; out of order.
void CodePointSet::push(CodePointRange range) {
  const auto [first, last] = range;
  if (first <= kBeforeSurrogates) ranges_.push_back({first, std::min(last, kBeforeSurrogates)});
  if (last >= kBehindSurrogates) ranges_.push_back({std::max(first, kBehindSurrogates), last});
}

void CodePointSet::add(char32_t first, char32_t last) {
  push({first, last});
  normalize();
}

void CodePointSet::add(const CodePointSet& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  normalize();
}

void CodePointSet::remove(const CodePointSet& other) {
  CodePointSet outside = complement();
  outside.add(other);
  *this = outside.complement();
}

CodePointSet CodePointSet::complement() const {
  std::vector<CodePointRange> between;
  char32_t next = 0;
  for (const CodePointRange& range : ranges_) {
    if (range.first > next) between.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) between.push_back({next, kLastCodePoint});
  return CodePointSet(between);
}

bool CodePointSet::contains(char32_t point) const {
  const auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), point,
      [](char32_t value, const CodePointRange& range) { return value < range.first; });
  return after != ranges_.begin() && point <= std::prev(after)->last;
}

void CodePointSet::normalize() {
  std::erase_if(ranges_, [](const CodePointRange& range) { return range.first > range.last; });
  std::sort(ranges_.begin(), ranges_.end(),
            [](const CodePointRange& a, const CodePointRange& b) { return a.first < b.first; });
  std::vector<CodePointRange> joined;
  for (const CodePointRange& range : ranges_) {
    if (joined.empty() || range.first > joined.back().last + 1) {
      joined.push_back(range);
    } else {
      joined.back().last = std::max(joined.back().last, range.last);
    }
  }
  ranges_ = std::move(joined);
}

}  // namespace parhelion::text
