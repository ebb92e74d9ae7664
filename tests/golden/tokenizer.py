"""Writes tests/data/text/tokenizers: small tokenizers with texts and the ids Hugging Face gives.

usage: tokenizer.py SMOLLM2.gguf LLAMA_CPP_MODELS   (run from the repository root)

Each real vocabulary is cut to what the texts need, so that the files stay small while the
pre-tokeniser, the normaliser and the special tokens are the model's own.  bench/tokenizer_parity.py
compares the full vocabularies.
"""
import json
import pathlib
import sys

import tokenizer_models
import tokenizer_texts
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

OUT = pathlib.Path("tests/data/text/tokenizers")
MAX_SPECIAL = 12


def cut(vocabulary, texts):
    """The tokens which the texts become, all bytes, and the merges that lead there."""
    full = tokenizer_models.build(vocabulary)
    kept = set(pre_tokenizers.ByteLevel.alphabet())
    for encoding in full.encode_batch(texts):
        kept.update(encoding.tokens)
    parts = {}
    for merge in vocabulary["merges"]:
        left, right = merge.split(" ")
        parts.setdefault(left + right, []).append((left, right))
    waiting = list(kept)
    while waiting:
        for pair in parts.get(waiting.pop(), [])[:1]:
            waiting += [part for part in pair if part not in kept]
            kept.update(pair)
    special = [t for t, k in zip(vocabulary["tokens"], vocabulary["token_type"]) if k in (3, 4)]
    kept.update(special[:MAX_SPECIAL])
    tokens = [token for token in vocabulary["tokens"] if token in kept]
    merges = [m for m in vocabulary["merges"] if {*m.split(" "), m.replace(" ", "")} <= kept]
    return tokenizer_models.build(vocabulary, tokens, merges)


def cases(tokenizer, texts):
    made = []
    for text in texts:
        tokenizer.encode_special_tokens = False
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        framed = tokenizer.encode(text, add_special_tokens=True).ids
        tokenizer.encode_special_tokens = True
        plain = tokenizer.encode(text, add_special_tokens=False).ids
        case = {"text": text, "ids": ids}
        if plain != ids:
            case["plain"] = plain
        if framed != ids:
            case["framed"] = framed
        decoded = tokenizer.decode(ids, skip_special_tokens=False)
        skipped = tokenizer.decode(ids, skip_special_tokens=True)
        if decoded != text:
            case["decoded"] = decoded
        if skipped != decoded:
            case["skipped"] = skipped
        made.append(case)
    return made


def decodings(tokenizer, seed):
    """Random ids, which break characters, and their text."""
    import random

    rng = random.Random(seed)
    size = tokenizer.get_vocab_size()
    lists = [[rng.randrange(size) for _ in range(rng.randint(1, 12))] for _ in range(60)]
    return [{"ids": ids, "text": tokenizer.decode(ids, skip_special_tokens=False)} for ids in lists]


def write(name, tokenizer, texts):
    (OUT / f"{name}.json").write_text(tokenizer.to_str())
    golden = {"cases": cases(tokenizer, texts), "decodings": decodings(tokenizer, name)}
    (OUT / f"{name}.golden.json").write_text(json.dumps(golden, separators=(",", ":")))


def trained(pre_tokenizer, normalizer=None, **model):
    """A BPE with a few merges over all bytes."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    space = "\u0120"
    merges = [("h", "e"), ("l", "l"), (space, "t"), ("he", "ll"), ("hell", "o"), ("1", "2"), (space, space),
              ("a", "b"), ("ab", "ab"), (space + "t", "he"), ("o", space), ("\u010a", "\u010a"), ("-", "-")]
    tokens = alphabet + [a + b for a, b in merges]
    tokenizer = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, merges, **model))
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def with_added_tokens():
    tokenizer = trained(pre_tokenizers.ByteLevel(add_prefix_space=True), normalizers.NFC())
    tokenizer.add_special_tokens([AddedToken("[S]", normalized=False), AddedToken("[L]", lstrip=True, normalized=False),
                                  AddedToken("[R]", rstrip=True, normalized=False), AddedToken("[LR]", lstrip=True, rstrip=True, normalized=False)])
    tokenizer.add_tokens([AddedToken("word", single_word=True, normalized=False), AddedToken("wordy", normalized=True),
                          AddedToken("caf\u00e9", normalized=True), AddedToken("[S][S]", normalized=False),
                          AddedToken("a b", normalized=True), AddedToken("[", normalized=True, single_word=True)])
    start = ("[S]", tokenizer.token_to_id("[S]"))
    end = ("[R]", tokenizer.token_to_id("[R]"))
    tokenizer.post_processor = processors.TemplateProcessing(single="[S] $A [R]", special_tokens=[start, end])
    return tokenizer


def with_splits(behavior, invert):
    stages = [pre_tokenizers.Split(Regex(r"\s+|[0-9]{2}|(?=o)|-"), behavior, invert), pre_tokenizers.Split("ll", behavior, invert),
              pre_tokenizers.Digits(False), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    return trained(pre_tokenizers.Sequence(stages))


def without_bytes(**settings):
    """A vocabulary that lacks most bytes."""
    tokens = ["?", "a", "b", "ab", "\u0120", "??"]
    tokenizer = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, [("a", "b"), ("?", "?")], **settings))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


SMALL_TEXTS = [
    "", " ", "hello the hello", "hello  12 123 1212 --- abababab\n\n\n", "o o--o 1-2-12 ll lll llll", "ab?ab??xyz?ab \u00e9\u00e9",
    "word", "a word.", "words word wordy swordy _word word\u0301 \u00e9word", "[S]a[L]b [L] c[R] d [R]", "x [LR] y[LR][LR] z", "[S][S] [S][S][S]",
    "caf\u00e9 cafe\u0301 cafe\u0301s", "a b a  b [a] [ ]", " \u3000[L]\u00a0[R]\u2003\n[LR]\t", "[[S]]", "hell\u00f6 the\u2028the", "a\u017f-b",
]


def main():
    smollm2, peer = sys.argv[1], pathlib.Path(sys.argv[2])
    OUT.mkdir(parents=True, exist_ok=True)
    texts = tokenizer_texts.WRITTEN + tokenizer_texts.random_texts(60, seed=7)
    for name, path in (("smollm2", smollm2), ("gpt2", peer / "ggml-vocab-gpt-2.gguf"), ("llama3", peer / "ggml-vocab-llama-bpe.gguf"),
                       ("qwen2", peer / "ggml-vocab-qwen2.gguf"), ("qwen35", peer / "ggml-vocab-qwen35.gguf")):
        write(name, cut(tokenizer_models.read_gguf(path), texts), texts)
    write("added_tokens", with_added_tokens(), SMALL_TEXTS)
    write("ignore_merges", trained(pre_tokenizers.ByteLevel(add_prefix_space=False), ignore_merges=True), SMALL_TEXTS)
    write("no_unknown", without_bytes(), SMALL_TEXTS)
    write("unknown", without_bytes(unk_token="?"), SMALL_TEXTS)
    write("fused_unknown", without_bytes(unk_token="?", fuse_unk=True), SMALL_TEXTS)
    for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
        for invert in (False, True):
            write(f"split_{behavior}{'_inverted' if invert else ''}", with_splits(behavior, invert), SMALL_TEXTS)


if __name__ == "__main__":
    main()
