"""Compares bench_tokenizer with Hugging Face tokenizers over full vocabularies.

usage: tokenizer_parity.py BENCH_TOKENIZER SCRATCH COUNT VOCABULARY.gguf...

Each vocabulary is read twice: as tokenizer.json and as GGUF metadata.  COUNT random texts and the
written ones are encoded by both.  If FILE.gguf.inp and .out lie beside a vocabulary they are
llama.cpp's own cases; where those differ from Hugging Face, Hugging Face is right and the case is
named.  Exits 1 on any difference from Hugging Face.
"""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"))
import tokenizer_models
import tokenizer_texts

KEPT = ("model", "pre", "tokens", "merges", "token_type", "bos_token_id")


def our_ids(bench, vocabulary, texts, plain):
    command = [bench, "ids", str(vocabulary), str(texts)] + (["plain"] if plain else [])
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    return [[int(word) for word in line.split()] for line in lines[:-1]]


def compare(label, texts, ours, theirs):
    wrong = [i for i in range(len(texts)) if ours[i] != theirs[i]]
    for i in wrong[:5]:
        print(f"  DIFFERS {label}: {texts[i]!r}\n    ours   {ours[i]}\n    theirs {theirs[i]}")
    print(f"{label}: {len(texts) - len(wrong)} of {len(texts)} texts equal")
    return len(wrong)


def llama_cpp_cases(path):
    """Texts and ids of the cases beside a vocabulary, or nothing."""
    texts, ids = pathlib.Path(f"{path}.inp"), pathlib.Path(f"{path}.out")
    if not texts.exists():
        return [], []
    separator = "\n__ggml_vocab_test__\n"
    cases = texts.read_bytes().decode().split(separator)
    expected = [[int(i) for i in line.split()] for line in ids.read_text().splitlines()]
    return cases[: len(expected)], expected


def check(bench, scratch, count, path):
    metadata = tokenizer_models.read_gguf(path)
    tokenizer = tokenizer_models.build(metadata)
    name = pathlib.Path(path).stem
    files = [scratch / f"{name}.json", scratch / f"{name}.gguf.json"]
    tokenizer.save(str(files[0]))
    files[1].write_text(json.dumps({k: metadata[k] for k in KEPT if k in metadata}))
    cases, case_ids = llama_cpp_cases(path)
    texts = cases + tokenizer_texts.WRITTEN + tokenizer_texts.random_texts(count, seed=len(name))
    (scratch / "texts.json").write_text(json.dumps(texts))
    failures = 0
    for plain in (False, True):
        tokenizer.encode_special_tokens = plain
        theirs = [e.ids for e in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
        for file in files:
            ours = our_ids(bench, file, scratch / "texts.json", plain)
            failures += compare(f"{file.name}{' plain' if plain else ''}", texts, ours, theirs)
        if not plain:
            for text, theirs_here, expected in zip(cases, theirs, case_ids):
                if theirs_here != expected:
                    print(f"  llama.cpp differs from Hugging Face on {text!r}: {expected}, {theirs_here}")
            print(f"{name}: {len(cases)} cases of llama.cpp among them")
    return failures


def main():
    bench, scratch, count = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    scratch.mkdir(parents=True, exist_ok=True)
    failures = sum(check(bench, scratch, count, path) for path in sys.argv[4:])
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
