"""Loads what `parhelion export` writes in Transformers and compares both programs on the same texts.

usage: export_check.py PARHELION MODEL   (run from the repository root)

Exports MODEL as float32, checks that Transformers finds no missing or unexpected tensor, that its
tokenizer gives the ids that Parhelion gives for MODEL itself, and how far its float32
log-probabilities lie from those of `parhelion score`. Then exports bfloat16, which must hold the
float32 weights rounded. Ends with 1 if ids or weights differ or a log-probability is off by more
than 1e-4.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import tokenizer_texts
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

LIMIT = 1e-4


def run(program, *arguments, text=None):
    return subprocess.run([program, *map(str, arguments)], input=text, capture_output=True, text=True, check=True).stdout


def tokenizer_differences(program, model, tokenizer, texts):
    different = 0
    for text in texts:
        ids = json.loads(run(program, "tokenize", model, "--json", text=text))["ids"]
        different += ids != tokenizer.encode(text, add_special_tokens=False)
    return different


def score(program, model, text):
    return json.loads(run(program, "score", model, "--dtype", "f32", "--json", text=text))


def log_probabilities(model, ids):
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0].double()
    return torch.log_softmax(logits, -1)[:-1].gather(1, torch.tensor(ids[1:])[:, None])[:, 0]


def check_scores(program, source, model, texts):
    worst = total = 0.0
    count = 0
    for text in texts:
        scored = score(program, source, text)
        ours = torch.tensor(scored["logprobs"][1:], dtype=torch.float64)
        off = (ours - log_probabilities(model, scored["ids"])).abs()
        worst = max(worst, off.max().item())
        total += off.sum().item()
        count += len(off)
    print(f"log-probabilities of {count} tokens: off by {worst:.3g} at most, {total / count:.3g} on average")
    return worst


def rounded_weights_are_equal(wide, narrow):
    narrow = narrow.state_dict()
    return all(torch.equal(tensor.bfloat16(), narrow[name]) for name, tensor in wide.state_dict().items())


def load(path):
    model, report = AutoModelForCausalLM.from_pretrained(path, output_loading_info=True, dtype="auto")
    assert not report["missing_keys"] and not report["unexpected_keys"] and not report["mismatched_keys"], report
    return model.eval()


def main():
    program, source = sys.argv[1:]
    texts = tokenizer_texts.WRITTEN + tokenizer_texts.random_texts(100, seed=11)
    with tempfile.TemporaryDirectory() as folder:
        exported = {kind: pathlib.Path(folder) / kind for kind in ("f32", "bf16")}
        for kind, path in exported.items():
            print(run(program, "export", source, path, "--dtype", kind), end="")
        model = load(exported["f32"])
        assert model.dtype == torch.float32, model.dtype
        different = tokenizer_differences(program, source, AutoTokenizer.from_pretrained(exported["f32"]), texts)
        print(f"ids of {len(texts)} texts: {different} differ")
        long_enough = [text for text in texts if len(text) > 20][:24]
        worst = check_scores(program, source, model, long_enough)
        narrow = load(exported["bf16"])
        assert narrow.dtype == torch.bfloat16, narrow.dtype
        is_rounded = rounded_weights_are_equal(model, narrow)
        print(f"bfloat16 weights are those of float32 rounded: {is_rounded}")
    sys.exit(different > 0 or worst > LIMIT or not is_rounded)


if __name__ == "__main__":
    main()
