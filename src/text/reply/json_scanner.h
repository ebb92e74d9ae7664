#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace parhelion::text {

enum class ScanStep : std::uint8_t {
  more,
  done,         ///< the value ends with this character
  done_before,  ///< the value, a number, ended before this character
  failed,       ///< this character cannot stand here
};

/// Follows one JSON value character by character. It accepts what JSON allows, up to 64 levels
/// deep, save that names may repeat.
class JsonScanner {
 public:
  ScanStep push(char c);
  /// Whether a number, which nothing closes, may end here.
  bool may_end() const;

 private:
  enum class State : std::uint8_t {
    value,        // a value begins
    first_value,  // a value or the end of a list
    first_key,    // a key or the end of an object
    key,
    colon,
    after_value,  // a comma or the end of what holds the value
    string,
    escape,
    hex,
    literal,
    minus,
    zero,
    digits,
    point,
    fraction,
    exponent,
    exponent_sign,
    exponent_digits,
  };

  ScanStep begin_value(char c);
  ScanStep open(char c);
  ScanStep close(char c);
  ScanStep end_value();
  ScanStep push_between(char c);
  ScanStep push_string(char c);
  ScanStep push_number(char c);
  ScanStep go(State state);

  State state_ = State::value;
  std::string open_;     // the brackets that are open
  bool is_key_ = false;  // of the string that is read
  int hex_left_ = 0;
  const char* literal_ = "";  // what remains of it
};

}  // namespace parhelion::text
