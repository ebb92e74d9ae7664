#include "base/error.h"
#include "text/regex.h"

#include <string>

namespace parhelion::text {
namespace {

/// Walks over an Oniguruma expression and writes the one for PCRE2.
class RegexTranslator {
 public:
  RegexTranslator(std::string_view pattern, std::string_view where)
      : pattern_(pattern), where_(where) {}

  std::string translate() {
    while (at_ < pattern_.size()) step();
    return std::move(out_);
  }

 private:
  void step() {
    const char c = pattern_[at_];
    if (c == '\\') return escape();
    if (in_class_) return class_member(c);
    if (c == '[') open_class();
    if (c != '[') copy(1);
  }

  void copy(std::size_t count) {
    out_ += pattern_.substr(at_, count);
    at_ += count;
  }

  void open_class() {
    in_class_ = true;
    copy(1);
    if (at_ < pattern_.size() && pattern_[at_] == '^') copy(1);
    refuse_if(at_ < pattern_.size() && pattern_[at_] == ']', "']' first in a class");
  }

  void class_member(char c) {
    refuse_if(c == '[', "a class within a class");
    refuse_if(pattern_.substr(at_, 2) == "&&", "'&&' in a class");
    if (c == ']') in_class_ = false;
    copy(1);
  }

  void escape() {
    refuse_if(at_ + 1 == pattern_.size(), "a backslash at the end");
    const char c = pattern_[at_ + 1];
    const bool is_alphanumeric =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_alphanumeric || std::string_view("rntfdDxpP").find(c) != std::string_view::npos) {
      return copy(2);
    }
    at_ += 2;
    if (c == 's') {
      out_ += "\\p{White_Space}";
    } else if (c == 'S') {
      out_ += "\\P{White_Space}";
    } else if (c == 'w') {
      word_class(in_class_ ? "" : "[", in_class_ ? "" : "]");
    } else if (c == 'W' && !in_class_) {
      word_class("[^", "]");
    } else if (c == 'u') {
      code_unit();
    } else {
      refuse_if(true, std::string("'\\") + c + "'");
    }
  }

  void word_class(std::string_view open, std::string_view close) {
    out_ += open;
    out_ += "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
    out_ += close;
  }

  /// \uHHHH
  void code_unit() {
    const std::string_view digits = pattern_.substr(at_, 4);
    refuse_if(digits.size() < 4 ||
                  digits.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos,
              "'\\u' without four digits");
    out_ += "\\x{" + std::string(digits) + "}";
    at_ += 4;
  }

  void refuse_if(bool condition, std::string_view what) const {
    ensure(!condition, ErrorKind::unsupported, "{}: regex '{}': {} is not supported", where_,
           pattern_, what);
  }

  std::string_view pattern_;
  std::string_view where_;
  std::string out_;
  std::size_t at_ = 0;
  bool in_class_ = false;
};

}  // namespace

std::string translate_regex(std::string_view pattern, std::string_view where) {
  return RegexTranslator(pattern, where).translate();
}

}  // namespace parhelion::text
