// Masks against a slow reference: for random grammars and vocabularies a bit is set exactly if the
// text with that token may begin a text of the grammar.
#include "base/error.h"
#include "base/random.h"
#include "text/grammar_reference.h"
#include "text/grammar_support.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace parhelion::text {
namespace {

using Part = ReferenceGrammar::Part;

/// Draws a grammar, as text and as productions.
class RandomGrammar {
 public:
  explicit RandomGrammar(std::uint64_t seed) : seed_(seed) {
    const std::size_t rule_count = 1 + draw(4);
    for (std::size_t i = 0; i < rule_count; ++i) symbols_.push_back(reference_.add_symbol());
    for (std::size_t i = 0; i < rule_count; ++i) {
      // The first alternative calls no rule, so that every rule matches something.
      const Piece plain = draw_text();
      const Piece rest = draw_choice(2);
      reference_.add_production(symbols_[i], plain.parts);
      reference_.add_production(symbols_[i], rest.parts);
      text_ += fmt::format("{} ::= {} | {}\n", rule_name(i), plain.text, rest.text);
    }
  }

  const std::string& text() const { return text_; }
  const ReferenceGrammar& reference() const { return reference_; }
  Part root() const { return symbols_.front(); }
  std::size_t draw(std::size_t count) { return noise16(seed_, 7, next_++) % count; }

 private:
  struct Piece {
    std::string text;
    std::vector<Part> parts;
  };

  static std::string rule_name(std::size_t i) { return i == 0 ? "root" : fmt::format("r{}", i); }

  Piece draw_text() {
    Piece piece{"\"", {}};
    for (std::size_t i = 1 + draw(3); i > 0; --i) {
      const char letter = "abc"[draw(3)];
      piece.text += letter;
      piece.parts.push_back(letter);
    }
    piece.text += '"';
    return piece;
  }

  Piece draw_choice(std::size_t depth) {
    const Part symbol = reference_.add_symbol();
    std::string text = "(";
    for (std::size_t i = 1 + draw(2); i > 0; --i) {
      const Piece sequence = draw_sequence(depth);
      reference_.add_production(symbol, sequence.parts);
      text += sequence.text + (i > 1 ? " | " : ")");
    }
    return {text, {symbol}};
  }

  Piece draw_sequence(std::size_t depth) {
    Piece piece;
    for (std::size_t i = draw(4); i > 0; --i) {
      const Piece part = draw_repeat(depth);
      piece.text += part.text + " ";
      piece.parts.insert(piece.parts.end(), part.parts.begin(), part.parts.end());
    }
    return piece;
  }

  Piece draw_repeat(std::size_t depth) {
    const Piece part = draw_part(depth);
    const Part symbol = reference_.add_symbol();
    switch (draw(8)) {
      case 0:
        add_repeat(symbol, part.parts, 0, true);
        return {part.text + "*", {symbol}};
      case 1:
        add_repeat(symbol, part.parts, 1, true);
        return {part.text + "+", {symbol}};
      case 2:
        add_repeat(symbol, part.parts, 1, false);
        return {part.text + "?", {symbol}};
      case 3:
        add_repeat(symbol, part.parts, 2, false);
        return {part.text + "{,2}", {symbol}};
      default:
        reference_.add_production(symbol, part.parts);
        return {part.text, {symbol}};
    }
  }

  /// Up to `count` times, or that often and more.
  void add_repeat(Part symbol, const std::vector<Part>& parts, std::size_t count, bool is_open) {
    std::vector<Part> times;
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_open) reference_.add_production(symbol, times);
      times.insert(times.end(), parts.begin(), parts.end());
    }
    reference_.add_production(symbol, times);
    if (!is_open) return;
    std::vector<Part> more = parts;
    more.push_back(symbol);
    reference_.add_production(symbol, more);
  }

  Piece draw_part(std::size_t depth) {
    const std::size_t kind = draw(6);
    if (kind == 0 && depth > 0) return draw_choice(depth - 1);
    if (kind <= 2) {
      const std::size_t rule = draw(symbols_.size());
      return {rule_name(rule), {symbols_[rule]}};
    }
    if (kind == 3) {
      const Part symbol = reference_.add_symbol();
      reference_.add_production(symbol, {'a'});
      reference_.add_production(symbol, {'b'});
      return {"[a-b]", {symbol}};
    }
    return draw_text();
  }

  std::uint64_t seed_;
  std::uint64_t next_ = 0;
  ReferenceGrammar reference_;
  std::vector<Part> symbols_;
  std::string text_;
};

std::vector<std::string> draw_vocabulary(RandomGrammar& random) {
  std::vector<std::string> tokens = {"a", "b", "c", "d"};
  for (int i = 0; i < 40; ++i) {
    std::string token;
    for (std::size_t length = 1 + random.draw(5); length > 0; --length) {
      token += "abc"[random.draw(3)];
    }
    tokens.push_back(token);
  }
  return tokens;
}

/// Walks through texts of the grammar and compares the mask at each step.
void compare_masks(RandomGrammar& random, const Grammar& grammar) {
  const std::vector<std::string> tokens = draw_vocabulary(random);
  const auto stop = static_cast<TokenId>(tokens.size());
  const auto table = table_of(tokens);
  const auto token_grammar = std::make_shared<const TokenGrammar>(grammar, table);
  for (int walk = 0; walk < 2; ++walk) {
    GrammarMatcher matcher(token_grammar, {stop});
    ReferenceGrammar::Reading reading(random.reference(), random.root());
    for (int step = 0; step < 5; ++step) {
      const std::vector<TokenId> ids = allowed(matcher, stop + 1);
      std::vector<TokenId> expected;
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (reading.may_go_on(tokens[i])) expected.push_back(static_cast<TokenId>(i));
      }
      if (reading.is_finished()) expected.push_back(stop);
      ASSERT_EQ(ids, expected) << random.text();
      if (expected.empty() || expected.front() == stop) break;
      const TokenId token = expected[random.draw(expected.size())];
      if (token == stop) break;
      ASSERT_TRUE(matcher.accept(token));
      reading.push(tokens[static_cast<std::size_t>(token)]);
    }
  }
}

TEST(GrammarMask, EqualsWhatASlowReferenceAllowsForRandomGrammars) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomGrammar random(seed);
    try {
      const Grammar grammar = compile_grammar_text(random.text());
      compare_masks(random, grammar);
      ++compared;
    } catch (const Error& error) {
      ASSERT_THAT(error.what(), testing::HasSubstr("left-recursive")) << random.text();
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(compared, 120);
}

}  // namespace
}  // namespace parhelion::text
