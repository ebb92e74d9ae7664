"""A training step by PyTorch and Transformers (forward, backward, AdamW), beside bench_train_step, alternating.

usage: train_step_peer.py BENCH_PROGRAM BATCH TOKENS f32|bf16 THREADS ROUNDS CONFIG.json [PEER_DTYPE [eager|compile]]
Resident memory of the peer is that of a process of its own, which is run once with `--memory`.
"""

import json
import resource
import statistics
import subprocess
import sys
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM


class Peer:
    def __init__(self, config_path, shape, dtype, mode):
        torch.manual_seed(0)
        config = LlamaConfig(**json.load(open(config_path)))
        self.model = LlamaForCausalLM(config).to(torch.float32 if dtype == "f32" else torch.bfloat16)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.ids = torch.randint(config.vocab_size, shape)
        self.labels = torch.randint(config.vocab_size, shape)
        self.forward = torch.compile(self.loss) if mode == "compile" else self.loss

    def loss(self):
        logits = self.model(self.ids).logits
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), self.labels.flatten())

    def step_seconds(self) -> float:
        begin = time.perf_counter()
        self.optimizer.zero_grad(set_to_none=True)
        self.forward().backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return time.perf_counter() - begin


def peer_memory(arguments) -> int:
    line = subprocess.run([sys.executable, __file__, "--memory", *arguments], capture_output=True, check=True)
    return int(line.stdout)


def main() -> None:
    if sys.argv[1] == "--memory":
        batch, tokens, dtype, threads, config_path = sys.argv[2:]
        torch.set_num_threads(int(threads))
        peer = Peer(config_path, (int(batch), int(tokens)), dtype, "eager")
        for _ in range(2):
            peer.step_seconds()
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
        return
    program, batch, tokens, dtype, threads, rounds, config_path, *rest = sys.argv[1:]
    peer_dtype, mode = [*rest, dtype, "eager"][0], (rest[1] if len(rest) > 1 else "eager")
    torch.set_num_threads(int(threads))
    shape = (int(batch), int(tokens))
    peer = Peer(config_path, shape, peer_dtype, mode)
    peer.step_seconds()
    ours, theirs = [], []
    for _ in range(int(rounds)):
        line = subprocess.run([program, batch, tokens, dtype, threads, "3", config_path], capture_output=True, check=True)
        ours.append(json.loads(line.stdout))
        theirs.append(statistics.median(peer.step_seconds() for _ in range(3)))
    our_time, peer_time = statistics.median(o["median_seconds"] for o in ours), statistics.median(theirs)
    count, one = shape[0] * shape[1], ours[0]
    print(f"{dtype} B {batch} x T {tokens}, {threads} threads: Parhelion {count / our_time:.1f} tok/s"
          f" ({one['gflops']:.1f} GFLOP/s by 6N, matmul {one['matmul_peak_gflops']:.1f}), PyTorch {peer_dtype} {mode}"
          f" {count / peer_time:.1f} tok/s, ratio {peer_time / our_time:.2f}")
    total = sum(one["seconds_by_family"].values()) + one["update_seconds"]
    print(f"  {'update':45s} {one['update_seconds']:8.4f} s  {100 * one['update_seconds'] / total:5.1f} %")
    for name, seconds in sorted(one["seconds_by_family"].items(), key=lambda item: -item[1])[:14]:
        rate = one["gflops_by_family"].get(name, 0)
        print(f"  {name:45s} {seconds:8.4f} s  {100 * seconds / total:5.1f} %  {rate:6.1f} GFLOP/s")
    memory = peer_memory([batch, tokens, peer_dtype, threads, config_path])
    print(f"  resident {one['resident_bytes'] / 2**20:.0f} MiB, PyTorch {memory / 2**20:.0f} MiB, ratio"
          f" {one['resident_bytes'] / memory:.2f}; activations {one['activation_bytes'] / 2**20:.0f} MiB planned,"
          f" {one['activation_bytes'] / one['activation_bound_bytes']:.3f} of their lower bound")


if __name__ == "__main__":
    main()
