#pragma once

#include "base/error.h"
#include "text/grammar/grammar.h"
#include "text/grammar/matcher.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parhelion::text {

/// Limits with which one input takes milliseconds.
inline constexpr GrammarLimits kFuzzLimits = {.source_bytes = 4096,
                                              .depth = 64,
                                              .rules = 500,
                                              .expressions = 5000,
                                              .states = 5000,
                                              .work = 200'000};

/// All bytes, and tokens that cross what usually is one part of a grammar.
inline std::shared_ptr<const TokenTable> fuzz_table() {
  std::vector<std::string> texts;
  for (int byte = 0; byte < 256; ++byte) texts.emplace_back(1, static_cast<char>(byte));
  for (const char* text : {"\":", "\": ", "\",", "\"}", "{\"", "[]", "],[", "}}", "ab", "abc", "12",
                           "1,", "\xC3\xA9", "\xA9\"", "\\u", "00", "true", "null}"}) {
    texts.emplace_back(text);
  }
  std::vector<TokenTable::Token> tokens;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    tokens.push_back({static_cast<TokenId>(i), texts[i]});
  }
  return std::make_shared<const TokenTable>(std::move(tokens));
}

/// Goes a way through a grammar that `choices` names. A token must be in the mask exactly if it is
/// accepted, and what is taken back must come again.
inline void walk_grammar(Grammar grammar, std::string_view choices) {
  const auto table = fuzz_table();
  const std::int64_t stop = table->token_id_end();
  GrammarMatcher matcher(std::make_shared<const TokenGrammar>(std::move(grammar), table),
                         {static_cast<TokenId>(stop)});
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(stop) / 32 + 1);
  for (std::size_t step = 0; step < choices.size() && step < 12; ++step) {
    matcher.fill_mask(bits);
    std::vector<TokenId> allowed;
    for (TokenId id = 0; id <= stop; ++id) {
      const bool is_set = (bits[static_cast<std::size_t>(id) / 32] >> (id % 32) & 1) != 0;
      const bool is_accepted = matcher.accept(id);
      if (is_set != is_accepted) std::abort();
      if (!is_accepted) continue;
      matcher.roll_back(1);
      allowed.push_back(id);
    }
    // With all bytes in the vocabulary there is always a way on.
    if (allowed.empty()) std::abort();
    const auto choice = static_cast<unsigned char>(choices[step]) * 7U;
    matcher.accept(allowed[choice % allowed.size()]);
    if (matcher.is_stopped()) return;
  }
}

/// Compiles by `compile`, and goes a way through what comes of it. Only refusals of input are no
/// findings.
template <class Compile>
void fuzz_grammar(const Compile& compile, std::string_view choices) try {
  walk_grammar(compile(), choices);
} catch (const Error& error) {
  const bool is_refusal =
      error.kind() == ErrorKind::invalid || error.kind() == ErrorKind::unsupported ||
      error.kind() == ErrorKind::exhausted || error.kind() == ErrorKind::corrupt;
  if (!is_refusal) throw;
}

}  // namespace parhelion::text
