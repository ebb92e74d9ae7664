#pragma once

#include "text/regex.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace parhelion::text {

/// Receives pieces of a text in order. A borrowed callable: it must outlive the sink.
class PieceSink {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, PieceSink>)
      PieceSink(F& call)  // NOLINT(google-explicit-constructor): a view of the callable
      : object_(&call),
        call_([](void* object, std::string_view piece) { (*static_cast<F*>(object))(piece); }) {}
  void operator()(std::string_view piece) const { call_(object_, piece); }

 private:
  void* object_;
  void (*call_)(void*, std::string_view);
};

/// GPT-2's words, scanned by hand:
/// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
struct Gpt2Words {};

/// The words of Llama 3 and of the Qwen family, scanned by hand, where W is \p{L}, or [\p{L}\p{M}]
/// if marks belong to words, and k is the greatest number of digits of a word:
/// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?W+|\p{N}{1,k}| ?[^\s
/// W\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
struct Llama3Words {
  std::int32_t max_digits = 3;
  bool marks_in_words = false;
  bool operator==(const Llama3Words&) const = default;
};

/// Runs of numeric characters apart from the rest, each character alone if `individual`.
struct DigitRuns {
  bool individual = false;
};

/// Puts a space before each piece that does not begin with one.
struct PrefixSpace {};

/// What becomes of the matches of a regex.
enum class SplitBehavior : std::uint8_t {
  removed,
  isolated,
  merged_with_previous,
  merged_with_next,
  contiguous,
};

/// Cuts at the matches of a regex, or at what lies between them if `inverted`.
struct RegexSplit {
  Regex regex;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool inverted = false;
};

/// One stage of a pre-tokeniser. Each piece of one stage is the whole text of the next.
using SplitStage = std::variant<Gpt2Words, Llama3Words, DigitRuns, PrefixSpace, RegexSplit>;

/// Runs `text`, which is valid UTF-8, through the stages. Pieces are never empty and live until the
/// sink returns.
///
/// Errors: exhausted from a regex.
void split_text(std::span<const SplitStage> stages, std::string_view text, PieceSink sink);

void split(const Gpt2Words& stage, std::string_view text, PieceSink sink);
void split(const Llama3Words& stage, std::string_view text, PieceSink sink);
void split(const DigitRuns& stage, std::string_view text, PieceSink sink);
void split(const PrefixSpace& stage, std::string_view text, PieceSink sink);
void split(const RegexSplit& stage, std::string_view text, PieceSink sink);

/// The scanner that gives the same pieces as a Split at every match of the regex `pattern` of a
/// tokenizer.json, or nothing if the pattern is none of the known ones.
std::optional<SplitStage> find_scanner(std::string_view pattern);

/// The pattern for which `find_scanner` gives `words`.
///
/// Errors: bug for words that no known pattern has.
std::string_view pattern_of(const Llama3Words& words);

/// GPT-2's expression, which the ByteLevel pre-tokeniser uses.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace parhelion::text
