"""Decode steps by Transformers on a GPU: static cache, torch.compile with CUDA graphs, greedy.

usage: gpu_decode_peer.py CONFIG.json [BATCH:CONTEXT ...]
Prints one JSON object per shape: median seconds of a step, tokens/s. Weights are random.
"""

import json
import statistics
import sys
import time

import torch
from transformers import AutoConfig, AutoModelForCausalLM, StaticCache


def time_shape(model, config, batch: int, context: int) -> float:
    cache = StaticCache(config=config, max_cache_len=context)
    ids = torch.randint(config.vocab_size, (batch, 1), device="cuda")
    position = torch.tensor([context - 1], device="cuda")

    def step(ids):
        logits = model(ids, past_key_values=cache, cache_position=position, position_ids=position[None].expand(batch, 1)).logits
        return logits[:, -1].argmax(-1, keepdim=True)

    compiled = torch.compile(step, mode="reduce-overhead", fullgraph=True)
    seconds = []
    with torch.inference_mode():
        for run in range(40):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            compiled(ids)
            torch.cuda.synchronize()
            if run >= 10:
                seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def main() -> None:
    values = json.load(open(sys.argv[1]))
    config = AutoConfig.for_model(values.pop("model_type"), **values)
    torch.manual_seed(0)
    with torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16, attn_implementation="sdpa").eval()
    for shape in sys.argv[2:] or ["1:128", "1:1024", "64:1024"]:
        batch, context = (int(part) for part in shape.split(":"))
        torch.compiler.reset()
        try:
            median = time_shape(model, config, batch, context)
            result = {"median_seconds": median, "tokens_per_second": batch / median}
        except Exception as error:  # noqa: BLE001  one shape that fails must not hide the others
            result = {"error": str(error)[:300]}
        print(json.dumps({"peer": f"torch {torch.__version__}", "batch": batch, "context": context, **result}), flush=True)


if __name__ == "__main__":
    main()
