"""Texts that find differences between tokenizers: written by hand, and drawn at random."""
import random

WRITTEN = [
    "", " ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", " \n", "\n ", " \n \n  x", "\t\t x\t",
    "Hello, world!", "hello world", " hello  world ", "The quick brown fox jumps over the lazy dog.",
    "I'm you're he's we've I'll I'd don't", "I'M YOU'RE HE'S WE'VE I'LL I'D DON'T",
    "'s 't 're 've 'm 'll 'd 'S 'T 'RE 'Ve 'M 'lL 'D", "'\u017f 'x ''s '' ' '1 'llama 'REd",
    "1 12 123 1234 12345 123456 1234567 12345678 123456789 1234567890", "3.14159e-10 0xFF 1,000,000",
    "a1b22c333d4444", "\u0661\u0662\u0663 \u00bd \u2167 \u00b2\u00b3 \u0be7\u0be8 \u3007",
    "caf\u00e9 cafe\u0301 nai\u0308ve A\u030a \u212b \u1e9b\u0323 \u0344 q\u0307\u0323 q\u0323\u0307",
    "\uac00\u1100\u1161\u11a8 \u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165 \ud55c\uad6d\uc5b4",
    "\u0958 \u0915\u093c \u0939\u093f\u0928\u094d\u0926\u0940 \u09ac\u09be\u0982\u09b2\u09be \u0ba4\u0bae\u0bbf\u0bb4\u0bcd \u0d2e\u0d32\u0d2f\u0d3e\u0d33\u0d02",
    "\u4e2d\u6587\u5206\u8bcd\u6d4b\u8bd5\uff0c\u6a19\u9ede\u7b26\u865f\u3002\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8\u3068\u304b\u3099\u3000\u5168\u89d2",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0439 \u0438\u0306 \u0395\u03bb\u03bb\u03b7\u03bd\u03b9\u03ba\u03ac \u039f\u03b4\u03cc\u03c2",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645 \u0627\u0653 \u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd \u05e9\u05c1\u05b8",
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01 \u1019\u103c\u1014\u103a\u1019\u102c \u1781\u17d2\u1798\u17c2\u179a \u10e5\u10d0\u10e0\u10d7\u10e3\u10da\u10d8 \u0540\u0561\u0575 \u12a0\u121b\u122d\u129b",
    "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f44d\U0001f3fd \U0001f3f3\ufe0f\u200d\U0001f308 \U0001f1e9\U0001f1ea \u2764\ufe0f 1\ufe0f\u20e3 \U0001fae0",
    "\U0001d4d7\U0001d4ee\U0001d4f5\U0001d4f5\U0001d4f8 \U00010330\U00010331 \U00013000 \U000e0041\U000e007f \U0010ffff \U00020000\U0002fa1d",
    "zero\u200bwidth soft\u00adhyphen nb\u00a0space en\u2002quad line\u2028para\u2029end nel\u0085x \u180e \ufeffbom \u2060",
    "\x00\x01\x02\x07\x08\x0b\x0c\x1b[31m\x7f\x80\x9f", "a\x0bb\x0cc\x1cd\x1de\x1ef\x1f",
    "def f(x):\n    return x + 1  # comment\n\n\nclass A:\n\tpass\n",
    "#include <vector>\nint main() { std::vector<int> v{1,2,3}; return v[0]==1?0:-1; }\r\n",
    "SELECT * FROM t WHERE a<>'b' AND c>=10;--x", '{"key": [1, 2.5, null], "\\u00e9": "\\n"}',
    "https://example.org/a?b=c&d=%20#frag user@example.com C:\\dir\\file.txt", "$x^2 + \\frac{1}{2}$ \u2211\u222b\u221e\u2260",
    "# Title\n\n- item *one*\n- item **two**\n\n```py\nprint('hi')\n```\n| a | b |\n|---|---|\n", "........ !!!??? --- ___ ===== ~~~~",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "ab" * 60, "=" * 100, " " * 70, "\n" * 40,
    " \n" * 20 + "x", "!\n\n\n?", "x \r\n \r\ny", "\u3000\u3000x\u3000", "a\u0300" * 20, "\u0300\u0301\u0302 x\u0323\u0302", "supercalifragilisticexpialidocious" * 2,
    "<|endoftext|>", "a<|endoftext|>b", " <|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n", "<|im_start|", "<|im_end|><|im_end|>",
    "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nhi<|eot_id|>", "<think>\n\n</think>\n\n<tool_call>{}</tool_call>", "<s></s><unk>[INST]",
]

RANGES = [
    (0x20, 0x7E), (0x20, 0x7E), (0x61, 0x7A), (0x61, 0x7A), (0x41, 0x5A), (0x30, 0x39), (0x00, 0x1F),
    (0x80, 0xFF), (0x100, 0x24F), (0x2B0, 0x36F), (0x300, 0x34F), (0x370, 0x3FF), (0x400, 0x52F),
    (0x590, 0x5FF), (0x600, 0x6FF), (0x900, 0x97F), (0x980, 0xDFF), (0xE00, 0xEFF), (0x1000, 0x109F),
    (0x1100, 0x11FF), (0x1E00, 0x1FFF), (0x2000, 0x206F), (0x2070, 0x21FF), (0x2200, 0x2BFF), (0x3000, 0x30FF),
    (0x3100, 0x4DBF), (0x4E00, 0x9FFF), (0xA000, 0xABFF), (0xAC00, 0xD7A3), (0xF900, 0xFFFD),
    (0x10000, 0x107FF), (0x11000, 0x11FFF), (0x1B000, 0x1FFFF), (0x20000, 0x2A6DF), (0x2F800, 0x2FA1F), (0x30000, 0x10FFFF),
]
SPACES = [" ", " ", " ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2003", "\u0085", "\u2028", "\x0b", " \n", "\n "]
BITS = [
    "'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'LL", "'Re", "'\u017f", "'", "``", "...", "--", "!=", "->", "==", "/*", "*/",
    "\u0301", "\u0323\u0307", "\u200d", "\ufe0f", "\U0001f3fd", "\U0001f600", "\U0001f468", "\u00e9", "e\u0301",
    "the", "The", "ing", "tion", "function", "return", "import", "Parhelion", "0", "1", "42", "2024", "1000000", "\u0665",
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|eot_id|>", "<think>", "</think>", "<|", "|>", "<s>", "</s>",
]


def random_run(rng):
    kind = rng.random()
    if kind < 0.25:
        return rng.choice(SPACES)
    if kind < 0.5:
        return rng.choice(BITS)
    if kind < 0.55:
        return rng.choice(BITS + SPACES) * rng.randint(2, 40)
    low, high = rng.choice(RANGES)
    points = (rng.randint(low, high) for _ in range(rng.randint(1, 12)))
    return "".join(chr(p) for p in points if not 0xD800 <= p < 0xE000)


def random_text(rng):
    """One text of up to about 200 characters; some are valid UTF-8 found in random bytes."""
    if rng.random() < 0.1:
        return rng.randbytes(rng.randint(1, 60)).decode("utf-8", "ignore")
    return "".join(random_run(rng) for _ in range(rng.randint(1, 14)))


def random_texts(count, seed):
    rng = random.Random(seed)
    return [random_text(rng) for _ in range(count)]
