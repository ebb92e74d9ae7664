#include "text/reply/json_scanner.h"

#include <string_view>

namespace parhelion::text {
namespace {

constexpr std::size_t kMaxScanDepth = 64;

bool is_json_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_json_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex_digit(char c) {
  return is_json_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

}  // namespace

ScanStep JsonScanner::go(State state) {
  state_ = state;
  return ScanStep::more;
}

ScanStep JsonScanner::push(char c) {
  switch (state_) {
    case State::string:
    case State::escape:
    case State::hex:
      return push_string(c);
    case State::literal:
      if (*literal_ != c) return ScanStep::failed;
      ++literal_;
      return *literal_ == '\0' ? end_value() : ScanStep::more;
    case State::minus:
    case State::zero:
    case State::digits:
    case State::point:
    case State::fraction:
    case State::exponent:
    case State::exponent_sign:
    case State::exponent_digits:
      return push_number(c);
    case State::value:
    case State::first_value:
    case State::first_key:
    case State::key:
    case State::colon:
    case State::after_value:
      return is_json_space(c) ? ScanStep::more : push_between(c);
  }
  return ScanStep::failed;
}

ScanStep JsonScanner::push_between(char c) {
  if (state_ == State::value) return begin_value(c);
  if (state_ == State::first_value) return c == ']' ? close(c) : begin_value(c);
  if (state_ == State::colon) return c == ':' ? go(State::value) : ScanStep::failed;
  if (state_ == State::after_value) {
    if (c != ',') return close(c);
    return go(open_.back() == '{' ? State::key : State::value);
  }
  if (c == '}' && state_ == State::first_key) return close(c);
  if (c != '"') return ScanStep::failed;
  is_key_ = true;
  return go(State::string);
}

ScanStep JsonScanner::begin_value(char c) {
  if (c == '{' || c == '[') return open(c);
  if (c == '"') {
    is_key_ = false;
    return go(State::string);
  }
  if (c == 't' || c == 'f' || c == 'n') {
    literal_ = c == 't' ? "rue" : c == 'f' ? "alse" : "ull";
    return go(State::literal);
  }
  if (c == '-') return go(State::minus);
  if (!is_json_digit(c)) return ScanStep::failed;
  return go(c == '0' ? State::zero : State::digits);
}

ScanStep JsonScanner::open(char c) {
  if (open_.size() == kMaxScanDepth) return ScanStep::failed;
  open_ += c;
  return go(c == '{' ? State::first_key : State::first_value);
}

ScanStep JsonScanner::close(char c) {
  const char opening = c == '}' ? '{' : c == ']' ? '[' : '\0';
  if (open_.empty() || open_.back() != opening) return ScanStep::failed;
  open_.pop_back();
  return end_value();
}

ScanStep JsonScanner::end_value() {
  state_ = State::after_value;
  return open_.empty() ? ScanStep::done : ScanStep::more;
}

ScanStep JsonScanner::push_string(char c) {
  if (state_ == State::hex) {
    if (!is_hex_digit(c)) return ScanStep::failed;
    return --hex_left_ == 0 ? go(State::string) : ScanStep::more;
  }
  if (state_ == State::escape) {
    hex_left_ = 4;
    if (c == 'u') return go(State::hex);
    const bool is_escape = std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos;
    return is_escape ? go(State::string) : ScanStep::failed;
  }
  if (c == '\\') return go(State::escape);
  if (c == '"') return is_key_ ? go(State::colon) : end_value();
  const bool is_control = static_cast<unsigned char>(c) < 0x20;
  return is_control ? ScanStep::failed : ScanStep::more;
}

bool JsonScanner::may_end() const {
  return open_.empty() && (state_ == State::zero || state_ == State::digits ||
                           state_ == State::fraction || state_ == State::exponent_digits);
}

ScanStep JsonScanner::push_number(char c) {
  const bool is_digit = is_json_digit(c);
  const bool has_whole = state_ == State::zero || state_ == State::digits;
  if (is_digit && state_ == State::minus) return go(c == '0' ? State::zero : State::digits);
  if (is_digit && state_ == State::digits) return ScanStep::more;
  if (is_digit && (state_ == State::point || state_ == State::fraction)) {
    return go(State::fraction);
  }
  if (is_digit && state_ != State::zero) return go(State::exponent_digits);
  if (c == '.' && has_whole) return go(State::point);
  if ((c == 'e' || c == 'E') && (has_whole || state_ == State::fraction))
    return go(State::exponent);
  if ((c == '+' || c == '-') && state_ == State::exponent) return go(State::exponent_sign);
  const bool is_whole = has_whole || state_ == State::fraction || state_ == State::exponent_digits;
  if (!is_whole || is_digit) return ScanStep::failed;
  state_ = State::after_value;
  return open_.empty() ? ScanStep::done_before : push(c);
}

}  // namespace parhelion::text
