"""Greedy continuations of SmolLM2-135M-Instruct by Transformers in float32, for tests/smollm2.

usage: smollm2_greedy.py MODEL.gguf OUT.json
"""

import json
import pathlib
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

PROMPTS = [
    "The capital of France is",
    "Once upon a time, in a village by the sea,",
    "def fibonacci(n):\n    ",
    "Water boils at a lower temperature on a mountain because",
    "Q: What is 17 + 25?\nA:",
    "The three primary colors are",
    "Dear Dr. Smith,\n\nThank you for",
    "Photosynthesis is the process by which",
    "SELECT name, age FROM users WHERE",
    "Les étoiles brillent dans le ciel et",
]


def main() -> None:
    gguf, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    cases = []
    for prompt in PROMPTS:
        ids = tokenizer(prompt, add_special_tokens=False, return_tensors="pt").input_ids
        with torch.no_grad():
            full = model.generate(
                ids, max_new_tokens=100, do_sample=False, eos_token_id=None, pad_token_id=0, repetition_penalty=1.0
            )
        cases.append({"prompt": prompt, "prompt_ids": ids[0].tolist(), "ids": full[0, ids.shape[1] :].tolist()})
        print(prompt[:30], cases[-1]["ids"][:8], flush=True)
    out.write_text(json.dumps({"cases": cases}, ensure_ascii=False, indent=None) + "\n")


if __name__ == "__main__":
    main()
