#pragma once

#include "base/error.h"
#include "text/grammar/expression.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace parhelion::text {

/// How often a part of a pattern or of a grammar may come.
struct RepeatCount {
  std::int64_t min = 1;
  std::optional<std::int64_t> max = 1;
};

/// Reads the text of a pattern or a grammar, by characters. Keeps how deep groups are nested.
class PatternCursor {
 public:
  /// Errors: invalid if the text is no UTF-8; exhausted if it is longer than the limits allow.
  PatternCursor(const RuleBook& book, std::string_view text);

  bool is_at_end() const { return at_ >= text_.size(); }
  /// The next byte, or 0 at the end.
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool starts_with(std::string_view prefix) const { return text_.substr(at_).starts_with(prefix); }
  /// Reads `prefix` if it comes next.
  bool take(std::string_view prefix);
  /// The next character; there must be one.
  char32_t take_point();
  void skip() { ++at_; }
  std::size_t at() const { return at_; }
  std::string_view from(std::size_t begin) const { return text_.substr(begin, at_ - begin); }

  /// Exactly `digits` hexadecimal digits, as a scalar value.
  char32_t take_hex(int digits);
  /// A whole number in decimal, or nothing.
  std::optional<std::int64_t> take_count();
  /// What stands between braces: {2}, {2,}, {2,5} or {,5}.
  RepeatCount take_braces();

  void enter();
  void leave() { --depth_; }

  template <class... Args>
  [[noreturn]] void refuse(ErrorKind kind, fmt::format_string<Args...> format,
                           Args&&... args) const {
    fail(kind, "{}: {}: {}", book_.where(), place(),
         fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  /// The line and what column of it, both from 1.
  std::string place() const;

  const RuleBook& book_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::int64_t depth_ = 0;
};

/// Reads what stands between square brackets, the opening one being read.
class ClassReader {
 public:
  explicit ClassReader(PatternCursor& cursor) : cursor_(cursor) {}
  CodePointSet read();

 private:
  struct Member {
    CodePointSet set;
    std::optional<char32_t> point;  ///< if it is one character
  };
  Member read_member();

  PatternCursor& cursor_;
};

/// What an escape stands for, the backslash being read: a class such as \d, or one character.
///
/// Errors: unsupported, by name, for escapes that are no characters.
CodePointSet read_escape(PatternCursor& cursor);

}  // namespace parhelion::text
