#include "text/jinja/lexer.h"

#include "base/error.h"
#include "text/jinja/python_text.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <algorithm>
#include <charconv>

namespace parhelion::text::jinja {
namespace {

/// Newlines become \n; one at the end goes.
std::string normalize_newlines(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      text += source[i];
      continue;
    }
    text += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit_char(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

class TemplateLexer {
 public:
  explicit TemplateLexer(std::string_view source) : source_(source) {}

  std::vector<Token> cut() {
    while (at_ < source_.size()) step();
    add(TokenKind::end, {});
    return std::move(tokens_);
  }

 private:
  void step() {
    const std::size_t tag = find_tag();
    std::string_view text = source_.substr(at_, tag - at_);
    const bool is_line_start = at_ == 0 || source_[at_ - 1] == '\n';
    at_ = tag;
    if (tag == source_.size()) return add_data(text, text);
    const std::string_view opening = source_.substr(tag, 2);
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    const bool has_sign = sign == '-' || sign == '+';
    std::string_view kept = text;
    if (sign == '-') {
      kept = strip_right(text);
    } else if (sign != '+' && opening != "{{") {
      kept = strip_line_start(text, is_line_start);
    }
    add_data(text, kept);
    if (has_sign) ++at_;
    at_ += 2;
    if (opening == "{#") return skip_comment();
    if (opening == "{{") return cut_expression(TokenKind::print_begin, "}}");
    if (!cut_raw()) cut_expression(TokenKind::block_begin, "%}");
  }

  std::size_t find_tag() const {
    std::size_t tag = source_.find('{', at_);
    while (tag != std::string_view::npos) {
      const char next = tag + 1 < source_.size() ? source_[tag + 1] : '\0';
      if (next == '{' || next == '%' || next == '#') return tag;
      tag = source_.find('{', tag + 1);
    }
    return source_.size();
  }

  /// White space between the last newline and a tag goes, if nothing else stands there.
  static std::string_view strip_line_start(std::string_view text, bool is_line_start) {
    const std::size_t newline = text.rfind('\n');
    const std::size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    if (line == 0 && !is_line_start) return text;
    return strip_right(text.substr(line)).empty() ? text.substr(0, line) : text;
  }

  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }

  /// Adds `kept` if it is not empty; counts the lines of all of `text`.
  void add_data(std::string_view text, std::string_view kept) {
    if (!kept.empty()) add(TokenKind::data, std::string(kept));
    count_lines(text);
  }

  void count_lines(std::string_view text) {
    line_ += static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  }

  void advance(std::size_t bytes) {
    count_lines(source_.substr(at_, bytes));
    at_ += bytes;
  }

  /// Behind a tag that ends with a minus all white space goes.
  void skip_white_space() {
    const std::string_view rest = source_.substr(at_);
    advance(rest.size() - strip_left(rest).size());
  }

  /// Behind a block or comment one newline goes.
  void end_block(char sign) {
    if (sign == '-') return skip_white_space();
    if (sign != '+' && at_ < source_.size() && source_[at_] == '\n') advance(1);
  }

  void skip_comment() {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string_view::npos) refuse("the comment has no end");
    const char sign = end > at_ ? source_[end - 1] : '\0';
    advance(end + 2 - at_);
    end_block(sign);
  }

  /// Where a block with the single word `name` ends that begins at `at`, or npos.
  std::size_t match_word_block(std::size_t at, std::string_view name, char& end_sign) const {
    while (at < source_.size() && is_blank(source_[at])) ++at;
    if (source_.substr(at, name.size()) != name) return std::string_view::npos;
    at += name.size();
    while (at < source_.size() && is_blank(source_[at])) ++at;
    end_sign = at < source_.size() ? source_[at] : '\0';
    if (end_sign == '-' || end_sign == '+') ++at;
    return source_.substr(at, 2) == "%}" ? at + 2 : std::string_view::npos;
  }

  /// Reads {% raw %}...{% endraw %} if it stands here, behind the opening.
  bool cut_raw() {
    char sign = '\0';
    const std::size_t body = match_word_block(at_, "raw", sign);
    if (body == std::string_view::npos) return false;
    advance(body - at_);
    if (sign == '-') skip_white_space();
    if (sign != '-' && sign != '+') end_block(sign);
    for (std::size_t tag = source_.find("{%", at_); tag != std::string_view::npos;
         tag = source_.find("{%", tag + 2)) {
      const char open_sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
      const bool has_sign = open_sign == '-' || open_sign == '+';
      const std::size_t end = match_word_block(tag + (has_sign ? 3 : 2), "endraw", sign);
      if (end == std::string_view::npos) continue;
      const std::string_view text = source_.substr(at_, tag - at_);
      const bool is_line_start = at_ == 0 || source_[at_ - 1] == '\n';
      std::string_view kept = text;
      if (open_sign == '-') kept = strip_right(text);
      if (!has_sign) kept = strip_line_start(text, is_line_start);
      add_data(text, kept);
      at_ = tag;
      advance(end - tag);
      end_block(sign);
      return true;
    }
    refuse("the raw block has no end");
  }

  void cut_expression(TokenKind begin, std::string_view closing) {
    add(begin, {});
    std::string open_brackets;
    while (true) {
      while (at_ < source_.size() && is_blank(source_[at_])) advance(1);
      if (at_ >= source_.size()) refuse("a tag has no end");
      if (open_brackets.empty() && cut_closing(closing)) return;
      cut_token(open_brackets);
    }
  }

  bool cut_closing(std::string_view closing) {
    const char sign = source_[at_];
    const bool is_block = closing == "%}";
    const bool has_sign = sign == '-' || (sign == '+' && is_block);
    if (source_.substr(at_ + (has_sign ? 1 : 0), 2) != closing) return false;
    add(is_block ? TokenKind::block_end : TokenKind::print_end, {});
    at_ += has_sign ? 3 : 2;
    if (is_block) {
      end_block(has_sign ? sign : '\0');
    } else if (has_sign) {
      skip_white_space();
    }
    return true;
  }

  void cut_token(std::string& open_brackets) {
    const char c = source_[at_];
    if (is_name_start(c)) return cut_name();
    if (is_digit_char(c)) return cut_number();
    if (c == '"' || c == '\'') return cut_string(c);
    cut_symbol(open_brackets);
  }

  void cut_name() {
    std::size_t end = at_;
    while (end < source_.size() && (is_name_start(source_[end]) || is_digit_char(source_[end]))) {
      ++end;
    }
    add(TokenKind::name, std::string(source_.substr(at_, end - at_)));
    at_ = end;
  }

  std::size_t skip_digits(std::size_t at) const {
    while (at < source_.size() && (is_digit_char(source_[at]) || source_[at] == '_')) ++at;
    return at;
  }

  void cut_number() {
    std::size_t end = skip_digits(at_);
    bool is_float = false;
    if (end + 1 < source_.size() && source_[end] == '.' && is_digit_char(source_[end + 1])) {
      is_float = true;
      end = skip_digits(end + 1);
    }
    if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      std::size_t digits = end + 1;
      if (digits < source_.size() && (source_[digits] == '+' || source_[digits] == '-')) ++digits;
      if (digits < source_.size() && is_digit_char(source_[digits])) {
        is_float = true;
        end = skip_digits(digits);
      }
    }
    std::string text(source_.substr(at_, end - at_));
    std::erase(text, '_');
    add(is_float ? TokenKind::floating : TokenKind::integer, std::move(text));
    at_ = end;
  }

  void cut_string(char quote) {
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2U : 1U;
    if (end >= source_.size()) refuse("a string has no end");
    const std::string_view body = source_.substr(at_ + 1, end - at_ - 1);
    const std::optional<std::string> text = unescape_string(body);
    if (!text) refuse("a string has a broken escape");
    add(TokenKind::string, *text);
    advance(end + 1 - at_);
  }

  void cut_symbol(std::string& open_brackets) {
    constexpr std::string_view kPairs[] = {"**", "//", "==", "!=", ">=", "<="};
    const std::string_view pair = source_.substr(at_, 2);
    const bool is_pair = std::find(std::begin(kPairs), std::end(kPairs), pair) != std::end(kPairs);
    const char c = source_[at_];
    if (!is_pair && std::string_view("+-/*%~[](){}<>=.:|,;").find(c) == std::string_view::npos) {
      refuse(std::string("unexpected character '") + c + "'");
    }
    if (c == '(' || c == '[' || c == '{') open_brackets += c;
    if (c == ')' || c == ']' || c == '}') {
      const char opening = c == ')' ? '(' : c == ']' ? '[' : '{';
      if (!open_brackets.ends_with(opening)) refuse(std::string("unexpected '") + c + "'");
      open_brackets.pop_back();
    }
    add(TokenKind::symbol, std::string(is_pair ? pair : pair.substr(0, 1)));
    at_ += is_pair ? 2 : 1;
  }

  [[noreturn]] void refuse(std::string_view what) const {
    fail(ErrorKind::invalid, "chat template line {}: {}", line_, what);
  }

  std::string_view source_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<Token> cut_template(std::string_view source) {
  const std::size_t invalid = find_invalid_utf8(source);
  ensure(invalid == std::string_view::npos, ErrorKind::invalid,
         "chat template: byte {} is no UTF-8", invalid);
  return TemplateLexer(normalize_newlines(source)).cut();
}

}  // namespace parhelion::text::jinja
