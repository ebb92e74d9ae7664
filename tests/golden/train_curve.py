"""Makes tests/data/train/curve.safetensors: 200 steps of PyTorch's training of tests/data/model/llama_tiny.

Usage: python3 tests/golden/train_curve.py tests/data/model/llama_tiny tests/data/train/curve.safetensors
Needs: torch, transformers, safetensors

  ids          int32[steps, documents, 17]: each document's first 16 tokens predict the 16 after the first
  lr           float32[steps]
  <run>.loss   float32[steps], mean over all predicted tokens, before the step's update
  <run>.norm   float32[steps], of all gradients, before clipping at 1
where run is adamw (weight decay 0.1 on matrices but the embedding), adam (L2 of 0.01 on the same) or sgd (momentum
0.9, Nesterov).
"""

import math
import sys

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

STEPS, DOCUMENTS, TOKENS, VOCABULARY = 200, 4, 16, 320


def batches():
    """Sequences with a rule to learn: each token follows from the one before it. Token 0 is left out: it is the
    config's pad_token_id, whose embedding gets no gradient in Transformers where it is looked up."""
    generator = torch.Generator().manual_seed(7)
    ids = torch.randint(1, VOCABULARY, (STEPS, DOCUMENTS, 1), generator=generator)
    for _ in range(TOKENS):
        noise = torch.randint(0, 3, (STEPS, DOCUMENTS, 1), generator=generator)
        ids = torch.cat([ids, (ids[..., -1:] * 5 + 7 + noise) % (VOCABULARY - 1) + 1], dim=-1)
    return ids


def learning_rates():
    warm = [min(1.0, (step + 1) / 20) for step in range(STEPS)]
    return [5e-4 * w * (0.55 + 0.45 * math.cos(math.pi * step / STEPS)) for step, w in enumerate(warm)]


def optimizer_of(run, decayed, others):
    groups = lambda decay: [{"params": decayed, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]
    if run == "adamw":
        return torch.optim.AdamW(groups(0.1), lr=1.0, betas=(0.9, 0.95))
    if run == "adam":
        return torch.optim.Adam(groups(0.01), lr=1.0)
    return torch.optim.SGD(groups(0.0), lr=1.0, momentum=0.9, nesterov=True)


def train(path, run, ids, rates):
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    decayed = [p for n, p in model.named_parameters() if p.dim() == 2 and "embed" not in n]
    others = [p for n, p in model.named_parameters() if p.dim() != 2 or "embed" in n]
    optimizer = optimizer_of(run, decayed, others)
    losses, norms = [], []
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = rates[step]
        logits = model(ids[step, :, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[step, :, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)))
        optimizer.step()
        losses.append(float(loss))
    print(run, losses[0], losses[-1])
    return torch.tensor(losses), torch.tensor(norms)


def main():
    torch.set_num_threads(1)
    ids, rates = batches(), learning_rates()
    tensors = {"ids": ids.to(torch.int32).contiguous(), "lr": torch.tensor(rates)}
    for run in ("adamw", "adam", "sgd"):
        tensors[f"{run}.loss"], tensors[f"{run}.norm"] = train(sys.argv[1], run, ids, rates)
    save_file(tensors, sys.argv[2])


if __name__ == "__main__":
    main()
