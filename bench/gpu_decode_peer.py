"""Decode steps by Transformers on a GPU: static cache, a CUDA graph of the whole step, greedy.

usage: gpu_decode_peer.py CONFIG.json [compile|eager] [BATCH:CONTEXT ...]
Prints one JSON object per shape: median seconds of a step, tokens/s. Weights are random.
"""

import json
import statistics
import sys
import time

import torch
from transformers import AutoConfig, AutoModelForCausalLM, StaticCache


def time_shape(model, config, batch: int, context: int, mode: str) -> float:
    cache = StaticCache(config=config, max_cache_len=context)
    ids = torch.randint(config.vocab_size, (batch, 1), device="cuda")
    position = torch.tensor([context - 1], device="cuda")

    def step(ids):
        logits = model(ids, past_key_values=cache, cache_position=position, position_ids=position[None].expand(batch, 1)).logits
        return logits[:, -1].argmax(-1, keepdim=True)

    # The graph is captured here and not by torch.compile, which refuses the cache's own counters.
    compiled = torch.compile(step) if mode == "compile" else step
    seconds = []
    with torch.inference_mode():
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                compiled(ids)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            compiled(ids)
        for run in range(40):
            begin = time.perf_counter()
            graph.replay()
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
    mode = sys.argv[2] if len(sys.argv) > 2 else "compile"
    for shape in sys.argv[3:] or ["1:128", "1:1024", "64:1024"]:
        batch, context = (int(part) for part in shape.split(":"))
        torch.compiler.reset()
        try:
            median = time_shape(model, config, batch, context, mode)
            result = {"median_seconds": median, "tokens_per_second": batch / median}
        except Exception as error:  # noqa: BLE001  one shape that fails must not hide the others
            result = {"error": str(error)[:300]}
        print(json.dumps({"peer": f"torch {torch.__version__} {mode}", "batch": batch, "context": context, **result}), flush=True)


if __name__ == "__main__":
    main()
