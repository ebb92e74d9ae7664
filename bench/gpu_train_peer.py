"""Training steps by PyTorch and Transformers on a GPU: the best of eager and compile, fused AdamW, packed rows.

usage: gpu_train_peer.py CONFIG.json BATCH TOKENS [eager|compile] [RUNS]
Prints one JSON object: median seconds and tokens/s of a step (forward, backward, clipping, AdamW in bf16), peak memory.
"""

import json
import statistics
import sys
import time

import torch
from transformers import AutoConfig, AutoModelForCausalLM


def main() -> None:
    config_path, batch, tokens = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    mode = sys.argv[4] if len(sys.argv) > 4 else "compile"
    runs = int(sys.argv[5]) if len(sys.argv) > 5 else 5
    values = json.load(open(config_path))
    config = AutoConfig.for_model(values.pop("model_type"), **values)
    torch.manual_seed(0)
    with torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16, attn_implementation="sdpa")
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    ids = torch.randint(config.vocab_size, (batch, tokens), device="cuda")
    labels = torch.randint(config.vocab_size, (batch, tokens), device="cuda")

    def loss_of(ids, labels):
        logits = model(ids, use_cache=False).logits
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())

    forward = torch.compile(loss_of) if mode == "compile" else loss_of

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        forward(ids, labels).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    seconds = []
    for run in range(runs + 3):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        if run >= 3:
            seconds.append(time.perf_counter() - begin)
    median = statistics.median(seconds)
    print(json.dumps({
        "peer": f"torch {torch.__version__} {mode}", "batch": batch, "tokens": tokens, "median_seconds": median,
        "tokens_per_second": batch * tokens / median, "peak_bytes": torch.cuda.max_memory_allocated()}))


if __name__ == "__main__":
    main()
