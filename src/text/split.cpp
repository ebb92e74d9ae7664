#include "text/split.h"

#include "base/error.h"
#include "text/unicode.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace parhelion::text {
namespace {

struct SplitPiece {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool is_match = false;
};

/// Matches and the gaps between them, in order, flags flipped if the split is inverted.
std::vector<SplitPiece> cut_at_matches(const RegexSplit& stage, std::string_view text) {
  std::vector<SplitPiece> pieces;
  RegexSearch search(stage.regex, text);
  std::size_t at = 0;
  while (const auto match = search.next()) {
    if (match->begin != at) pieces.push_back({at, match->begin, stage.inverted});
    pieces.push_back({match->begin, match->end, !stage.inverted});
    at = match->end;
  }
  if (at != text.size()) pieces.push_back({at, text.size(), stage.inverted});
  return pieces;
}

/// Joins each match to the piece before it, unless that is a match too.
std::vector<SplitPiece> merge_with_previous(const std::vector<SplitPiece>& pieces) {
  std::vector<SplitPiece> merged;
  bool previous_match = false;
  for (const SplitPiece& piece : pieces) {
    if (piece.is_match && !previous_match && !merged.empty()) {
      merged.back().end = piece.end;
    } else {
      merged.push_back(piece);
    }
    previous_match = piece.is_match;
  }
  return merged;
}

/// Joins each match to the piece behind it, unless that is a match too.
std::vector<SplitPiece> merge_with_next(const std::vector<SplitPiece>& pieces) {
  std::vector<SplitPiece> merged;
  bool next_match = false;
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    if (piece->is_match && !next_match && !merged.empty()) {
      merged.back().begin = piece->begin;
    } else {
      merged.push_back(*piece);
    }
    next_match = piece->is_match;
  }
  return {merged.rbegin(), merged.rend()};
}

/// Joins neighbours of one kind.
std::vector<SplitPiece> merge_alike(const std::vector<SplitPiece>& pieces) {
  std::vector<SplitPiece> merged;
  bool previous_match = false;
  for (const SplitPiece& piece : pieces) {
    if (piece.is_match == previous_match && !merged.empty()) {
      merged.back().end = piece.end;
    } else {
      merged.push_back(piece);
    }
    previous_match = piece.is_match;
  }
  return merged;
}

std::vector<SplitPiece> apply_behavior(SplitBehavior behavior, std::vector<SplitPiece> pieces) {
  switch (behavior) {
    case SplitBehavior::removed:
      std::erase_if(pieces, [](const SplitPiece& piece) { return piece.is_match; });
      return pieces;
    case SplitBehavior::isolated:
      return pieces;
    case SplitBehavior::merged_with_previous:
      return merge_with_previous(pieces);
    case SplitBehavior::merged_with_next:
      return merge_with_next(pieces);
    case SplitBehavior::contiguous:
      return merge_alike(pieces);
  }
  return pieces;
}

struct KnownPattern {
  std::string_view pattern;
  Llama3Words words;
};

constexpr std::int32_t kAnyDigits = std::numeric_limits<std::int32_t>::max();

/// The expressions of Llama 3, of Qwen 2 and 3, of Qwen 3.5, and of models between them.
constexpr std::array kKnownPatterns = {
    KnownPattern{
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        {3, false}},
    KnownPattern{
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        {1, false}},
    KnownPattern{
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        {1, true}},
    KnownPattern{
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        {kAnyDigits, false}},
};

}  // namespace

std::optional<SplitStage> find_scanner(std::string_view pattern) {
  if (pattern == kGpt2Pattern) return Gpt2Words{};
  for (const KnownPattern& known : kKnownPatterns) {
    if (known.pattern == pattern) return known.words;
  }
  return std::nullopt;
}

std::string_view pattern_of(const Llama3Words& words) {
  const auto known = std::ranges::find(kKnownPatterns, words, &KnownPattern::words);
  ensure(known != kKnownPatterns.end(), ErrorKind::bug, "split: no pattern is known for the words");
  return known->pattern;
}

void split_text(std::span<const SplitStage> stages, std::string_view text, PieceSink sink) {
  if (stages.empty()) return sink(text);
  auto pass_on = [&](std::string_view piece) { split_text(stages.subspan(1), piece, sink); };
  const PieceSink next = stages.size() == 1 ? sink : PieceSink(pass_on);
  std::visit([&](const auto& stage) { split(stage, text, next); }, stages.front());
}

void split(const DigitRuns& stage, std::string_view text, PieceSink sink) {
  std::size_t begin = 0;
  bool was_digit = false;
  for (std::size_t at = 0; at < text.size();) {
    const FlagsAt here = flags_at(text.data() + at);
    const bool is_digit = (here.flags & unicode::kDigit) != 0;
    const bool is_cut = is_digit != was_digit || (is_digit && stage.individual);
    if (is_cut && at != begin) sink(text.substr(begin, at - begin));
    if (is_cut) begin = at;
    was_digit = is_digit;
    at += here.bytes;
  }
  if (begin != text.size()) sink(text.substr(begin));
}

void split(const PrefixSpace&, std::string_view text, PieceSink sink) {
  if (text.starts_with(' ')) return sink(text);
  sink(" " + std::string(text));
}

void split(const RegexSplit& stage, std::string_view text, PieceSink sink) {
  for (const SplitPiece& piece : apply_behavior(stage.behavior, cut_at_matches(stage, text))) {
    if (piece.end != piece.begin) sink(text.substr(piece.begin, piece.end - piece.begin));
  }
}

}  // namespace parhelion::text
