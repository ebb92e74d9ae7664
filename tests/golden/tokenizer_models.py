"""Hugging Face tokenizers built from the vocabularies of GGUF files.

GGUF keeps tokens and merges but only a name for the pre-tokeniser, so the configuration that the
model's own tokenizer.json has is written here.
"""
import gguf
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers
from tokenizers import pre_tokenizers, processors

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
QWEN35 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CONTROL, USER_DEFINED = 3, 4


def read_gguf(path):
    """The tokenizer metadata of a GGUF file, with the keys' last parts as names."""
    reader = gguf.GGUFReader(path)
    prefix = "tokenizer."
    return {
        key.removeprefix(prefix).removeprefix("ggml."): field.contents()
        for key, field in reader.fields.items()
        if key.startswith(prefix)
    }


def byte_level(use_regex):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=use_regex)


def split_at(pattern):
    split = pre_tokenizers.Split(Regex(pattern), "isolated", invert=False)
    return pre_tokenizers.Sequence([split, byte_level(False)])


def pre_tokenizer(pre):
    if pre in ("gpt-2", "phi-2"):
        return byte_level(True)
    if pre in ("smollm", "starcoder", "refact", "command-r"):
        return pre_tokenizers.Sequence([pre_tokenizers.Digits(True), byte_level(True)])
    return split_at({"llama-bpe": LLAMA3, "qwen2": QWEN2, "qwen35": QWEN35}[pre])


def build(vocabulary, tokens=None, merges=None):
    """The tokenizer of a GGUF vocabulary, or of a cut of it."""
    pre = vocabulary["pre"]
    all_tokens = vocabulary["tokens"]
    tokens = all_tokens if tokens is None else tokens
    merges = vocabulary["merges"] if merges is None else merges
    vocab = {token: i for i, token in enumerate(tokens)}
    pairs = [tuple(merge.split(" ")) for merge in merges]
    tokenizer = Tokenizer(models.BPE(vocab, pairs, ignore_merges=pre == "llama-bpe"))
    if pre in ("qwen2", "qwen35", "command-r"):
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizer(pre)
    tokenizer.decoder = decoders.ByteLevel()
    for token, kind in zip(all_tokens, vocabulary["token_type"]):
        if kind in (CONTROL, USER_DEFINED) and token in vocab:
            added = AddedToken(token, normalized=False, special=kind == CONTROL)
            tokenizer.add_special_tokens([added]) if kind == CONTROL else tokenizer.add_tokens([added])
    if pre == "llama-bpe":
        bos = all_tokens[vocabulary["bos_token_id"]]
        template = processors.TemplateProcessing(
            single=f"{bos} $A", special_tokens=[(bos, tokenizer.token_to_id(bos))]
        )
        level = processors.ByteLevel(trim_offsets=True)
        tokenizer.post_processor = processors.Sequence([level, template])
    return tokenizer
