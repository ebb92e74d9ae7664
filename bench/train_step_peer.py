"""Forward and backward of a decoder by PyTorch and Transformers, beside bench_train_step, alternating.

usage: train_step_peer.py BENCH_PROGRAM BATCH TOKENS f32|bf16 THREADS ROUNDS CONFIG.json
"""

import json
import statistics
import subprocess
import sys
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM


def peer_seconds(model, ids, labels) -> float:
    begin = time.perf_counter()
    model.zero_grad(set_to_none=True)
    logits = model(ids).logits
    torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten()).backward()
    return time.perf_counter() - begin


def main() -> None:
    program, batch, tokens, dtype, threads, rounds, config_path = sys.argv[1:]
    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    config = LlamaConfig(**json.load(open(config_path)))
    model = LlamaForCausalLM(config).to(torch.float32 if dtype == "f32" else torch.bfloat16)
    shape = (int(batch), int(tokens))
    ids, labels = torch.randint(config.vocab_size, shape), torch.randint(config.vocab_size, shape)
    peer_seconds(model, ids, labels)
    ours, peer = [], []
    for _ in range(int(rounds)):
        line = subprocess.run([program, batch, tokens, dtype, threads, "3", config_path], capture_output=True, check=True)
        ours.append(json.loads(line.stdout))
        peer.append(statistics.median(peer_seconds(model, ids, labels) for _ in range(3)))
    our_time, peer_time = statistics.median(o["median_seconds"] for o in ours), statistics.median(peer)
    count = shape[0] * shape[1]
    print(f"{dtype} B {batch} x T {tokens}, {threads} threads: Parhelion {count / our_time:.1f} tok/s"
          f" ({ours[0]['gflops']:.1f} GFLOP/s by 6N), PyTorch {count / peer_time:.1f} tok/s, ratio {peer_time / our_time:.2f}")
    total = sum(ours[0]["seconds_by_family"].values())
    for name, seconds in sorted(ours[0]["seconds_by_family"].items(), key=lambda item: -item[1])[:14]:
        print(f"  {name:45s} {seconds:8.4f} s  {100 * seconds / total:5.1f} %")
    print(f"  planned peak {ours[0]['peak_bytes'] / 2**20:.0f} MiB,"
          f" {ours[0]['peak_bytes'] / ours[0]['lower_bound_bytes']:.3f} of the lower bound")


if __name__ == "__main__":
    main()
