#pragma once

#include <cstdint>
#include <vector>

namespace parhelion::text {

struct CodePointRange {
  char32_t first = 0;
  char32_t last = 0;
  bool operator==(const CodePointRange&) const = default;
};

/// A set of Unicode scalar values, as ranges in order that neither touch nor overlap.
class CodePointSet {
 public:
  CodePointSet() = default;
  /// The scalar values from `first` to `last`.
  CodePointSet(char32_t first, char32_t last) { add(first, last); }

  /// The scalar values of many ranges, in any order.
  explicit CodePointSet(const std::vector<CodePointRange>& ranges);

  /// Every scalar value.
  static CodePointSet all();

  void add(char32_t first, char32_t last);
  void add(const CodePointSet& other);
  void remove(const CodePointSet& other);

  CodePointSet complement() const;
  bool contains(char32_t point) const;
  bool is_empty() const { return ranges_.empty(); }
  const std::vector<CodePointRange>& ranges() const { return ranges_; }
  bool operator==(const CodePointSet&) const = default;

 private:
  void push(CodePointRange range);
  void normalize();

  std::vector<CodePointRange> ranges_;
};

}  // namespace parhelion::text
