#include "base/error.h"
#include "text/jinja/parser.h"

#include <algorithm>

namespace parhelion::text::jinja {
namespace {

/// What a token is called in errors.
std::string_view describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::data:
      return "text";
    case TokenKind::block_begin:
      return "{%";
    case TokenKind::block_end:
      return "%}";
    case TokenKind::print_begin:
      return "{{";
    case TokenKind::print_end:
      return "}}";
    case TokenKind::name:
    case TokenKind::string:
    case TokenKind::integer:
    case TokenKind::floating:
    case TokenKind::symbol:
      return token.text;
    case TokenKind::end:
      return "the end";
  }
  return "";
}

}  // namespace

NestingGuard::NestingGuard(int& depth, int line) : depth_(depth) {
  constexpr int kMaxNesting = 100;
  ensure(depth_ < kMaxNesting, ErrorKind::invalid,
         "chat template line {}: nested deeper than {} levels", line, kMaxNesting);
  ++depth_;
}

const Token& TokenStream::peek(std::size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

Token TokenStream::next() {
  Token token = peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool TokenStream::is_symbol(std::string_view text) const {
  return is(TokenKind::symbol) && peek().text == text;
}

bool TokenStream::is_name(std::string_view text) const {
  return is(TokenKind::name) && peek().text == text;
}

bool TokenStream::take_symbol(std::string_view text) {
  const bool is_here = is_symbol(text);
  if (is_here) ++at_;
  return is_here;
}

bool TokenStream::take_name(std::string_view text) {
  const bool is_here = is_name(text);
  if (is_here) ++at_;
  return is_here;
}

void TokenStream::expect_symbol(std::string_view text) {
  if (!take_symbol(text)) refuse(std::string("'") + std::string(text) + "'");
}

std::string TokenStream::expect_name() {
  if (!is(TokenKind::name)) refuse("a name");
  return next().text;
}

void TokenStream::refuse(std::string_view expected) const {
  const Token& token = peek();
  fail(ErrorKind::invalid, "chat template line {}: '{}' where {} is expected", token.line,
       describe(token), expected);
}

}  // namespace parhelion::text::jinja
