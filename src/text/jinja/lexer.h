#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::text::jinja {

enum class TokenKind : std::uint8_t {
  data,         ///< literal text
  block_begin,  ///< {%
  block_end,
  print_begin,  ///< {{
  print_end,
  name,
  string,
  integer,
  floating,
  symbol,  ///< an operator or bracket
  end,
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;  ///< the literal text, the value of a string, or the characters themselves
  int line = 1;
};

/// Cuts a template into tokens, with blocks trimmed and stripped as Transformers sets up Jinja:
/// trim_blocks and lstrip_blocks on, no trailing newline kept. `{% raw %}` and comments are gone.
///
/// Errors: invalid, with the line, if the text is no template.
std::vector<Token> cut_template(std::string_view source);

}  // namespace parhelion::text::jinja
