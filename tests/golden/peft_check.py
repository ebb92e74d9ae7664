"""Compares adapters with Hugging Face's peft, both ways, and with what is merged.

usage: peft_check.py PARHELION MODEL [RUN]   (run from the repository root; needs torch, transformers, peft)

Without RUN a few steps of adapters are trained for MODEL, with dropout. Then, in float32:
  1. `parhelion export RUN --adapter-only` is loaded by peft beside the exported MODEL;
  2. an adapter that peft makes, on targets of its own, is taken by `parhelion score --adapter`;
  3. `parhelion export RUN`, which merges, is loaded by Transformers and compared with what
     peft merges.
Ends with 1 if a log-probability is off by more than 1e-4, or a merged weight by more than 1e-5.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM

LIMIT = 1e-4
WEIGHT_LIMIT = 1e-5
TEXT = "A parhelion is a bright spot beside the sun. Ice in the air bends the light by twenty two degrees."
JOB = """
[run]
directory = "{folder}/run"
[model]
path = "{model}"
[lora]
rank = 6
alpha = 9
dropout = 0.1
targets = '.*\\.(q|v|up|down)_proj'
[data]
files = ["{folder}/text.jsonl"]
sequence_tokens = 64
epochs = 0
[optimizer]
lr = 3e-3
[schedule]
steps = 8
[log]
tensorboard = false
"""


def run(program, *arguments, text=None):
    return subprocess.run([program, *map(str, arguments)], input=text, capture_output=True, text=True, check=True).stdout


def trained_run(program, model, folder):
    (folder / "text.jsonl").write_text(json.dumps({"text": TEXT}) + "\n")
    (folder / "job.toml").write_text(JOB.format(folder=folder, model=pathlib.Path(model).resolve()))
    run(program, "train", folder / "job.toml")
    return folder / "run"


def load(path):
    return AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()


def log_probabilities(model, ids):
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0].double()
    return torch.log_softmax(logits, -1)[:-1].gather(1, torch.tensor(ids[1:])[:, None])[:, 0]


def difference(program, arguments, model):
    scored = json.loads(run(program, "score", *arguments, "--dtype", "f32", "--json", text=TEXT))
    ours = torch.tensor(scored["logprobs"][1:], dtype=torch.float64)
    return (ours - log_probabilities(model, scored["ids"])).abs().max().item()


def peft_made(base, folder):
    """Targets by a regular expression; B random, so that the adapter changes the output."""
    config = LoraConfig(r=5, lora_alpha=7, target_modules=r".*\.[02468]\..*(k|o|gate)_proj", task_type="CAUSAL_LM")
    torch.manual_seed(1)
    adapted = get_peft_model(base, config).eval()
    for name, parameter in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.02)
    adapted.save_pretrained(folder)
    return adapted


def largest_weight_difference(merged, exported):
    theirs = dict(merged.named_parameters())
    ours = dict(exported.named_parameters())
    assert theirs.keys() == ours.keys()
    return max((theirs[name] - ours[name]).abs().max().item() for name in theirs)


def main():
    program, source, *rest = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        trained = pathlib.Path(rest[0]) if rest else trained_run(program, source, folder)
        print(run(program, "export", source, folder / "base"), end="")
        print(run(program, "export", trained, folder / "adapter", "--adapter-only"), end="")
        print(run(program, "export", trained, folder / "merged"), end="")

        adapted = PeftModel.from_pretrained(load(folder / "base"), folder / "adapter").eval()
        without = difference(program, [trained], load(folder / "base"))
        ours = difference(program, [trained], adapted)
        print(f"our adapter in peft: off by {ours:.3g} (by {without:.3g} without it)")
        theirs = difference(
            program, [source, "--adapter", folder / "made"], peft_made(load(folder / "base"), folder / "made")
        )
        print(f"peft's adapter here: off by {theirs:.3g}")
        exported = load(folder / "merged")
        merged = difference(program, [trained], exported)
        weights = largest_weight_difference(adapted.merge_and_unload(), exported)
        print(f"merged: off by {merged:.3g}; weights by {weights:.3g} from those that peft merges")
    sys.exit(max(ours, theirs, merged) > LIMIT or without < 10 * LIMIT or weights > WEIGHT_LIMIT)


if __name__ == "__main__":
    main()
