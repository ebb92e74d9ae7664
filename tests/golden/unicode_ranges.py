"""Writes src/text/unicode_ranges.h: character classes as Hugging Face tokenizers sees them.

The classes are asked of the library itself, one question per code point, because the Unicode
version it carries decides how text is split.  Run from the repository root.
"""
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
LETTER, MARK, NUMBER, SPACE, WORD, UNSTABLE, DIGIT = 1, 2, 4, 8, 16, 32, 64


def matching(pattern):
    """The code points which the library's regex engine matches with `pattern`."""
    split = pre_tokenizers.Split(Regex(pattern), "removed")
    text = "".join(map(chr, CODE_POINTS))
    rest = {CODE_POINTS[i] for _, (a, b) in split.pre_tokenize_str(text) for i in range(a, b)}
    return set(CODE_POINTS) - rest


def word_characters():
    """The code points after which a `single_word` token does not match."""
    tokenizer = Tokenizer(models.BPE({"A": 0}, []))
    tokenizer.add_tokens([AddedToken("\ue000", single_word=True, normalized=False)])
    found = set()
    for c in CODE_POINTS:
        if c != 0xE000 and not tokenizer.encode("\ue000" + chr(c)).ids:
            found.add(c)
    return found


def digit_characters():
    """The code points which the Digits pre-tokenizer sets apart."""
    text = "".join(chr(c) + "a" for c in CODE_POINTS)
    pieces = pre_tokenizers.Digits(True).pre_tokenize_str(text)
    return {CODE_POINTS[a // 2] for _, (a, b) in pieces if b - a == 1 and a % 2 == 0}


def is_reordered(nfc, character):
    """Whether the library moves the character by its combining class."""
    low, high = "\u0334", "\u0345"  # classes 1 and 240, the ends of the order
    before = f"!{high}{character}"
    behind = f"!{character}{low}"
    return nfc(before) == f"!{character}{high}" or nfc(behind) == f"!{low}{character}"


def unstable_characters():
    """What can differ from its NFC form, or from a neighbour's, for the library's NFC."""
    nfc = normalizers.NFC().normalize_str
    found = {c for c in CODE_POINTS if nfc(chr(c)) != chr(c) or is_reordered(nfc, chr(c))}
    # Vowels and finals join to syllables.  U+11A7 does not, though utf8proc takes it for a final.
    found |= set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    for c in CODE_POINTS:
        parts = unicodedata.normalize("NFD", chr(c))
        for part in parts[1:]:
            if len(parts) == 2 and nfc(parts) == nfc(chr(c)):
                found.add(ord(part))
    return found - set(range(0xAC00, 0xD7A4))


def main():
    classes = [0] * 0x110000
    for members, flag in (
        (matching(r"\p{L}"), LETTER),
        (matching(r"\p{M}"), MARK),
        (matching(r"\p{N}"), NUMBER),
        (matching(r"\s"), SPACE),
        (word_characters(), WORD),
        (unstable_characters(), UNSTABLE),
        (digit_characters(), DIGIT),
    ):
        for c in members:
            classes[c] |= flag
    starts = [c for c in range(0x110000) if c == 0 or classes[c] != classes[c - 1]]
    words = [f"0x{start << 7 | classes[start]:x}" for start in starts]
    lines, line = [], "   "
    for word in words:
        if len(line) + len(word) + 2 > 100:
            lines.append(line)
            line = "   "
        line += f" {word},"
    lines.append(line)
    with open("src/text/unicode_ranges.h", "w") as out:
        out.write("#pragma once\n\n#include <cstdint>\n\nnamespace parhelion::text {\n\n")
        out.write("/// Runs of code points of one class, written by tests/golden/unicode_ranges.py: the first\n")
        out.write("/// code point of each run, shifted left by 7, and the run's flags (see unicode.h).\n")
        out.write("inline constexpr std::uint32_t kUnicodeRuns[] = {\n// clang-format off\n")
        out.write("\n".join(lines) + "\n// clang-format on\n};\n\n}  // namespace parhelion::text\n")
    print(len(starts), "runs")


if __name__ == "__main__":
    main()
