"""Prefill and decode beside llama.cpp's llama-bench on the same file, alternating.

usage: serve_peer.py BENCH_PROGRAM LLAMA_BENCH MODEL.gguf PEER.gguf f32|bf16 THREADS PROMPT_TOKENS NEW_TOKENS ROUNDS [avx2]
avx2 holds our side down to that level; give the llama-bench of `peers.sh DIR llama.cpp-avx2` then. PEER.gguf holds the same weights in the peer's format for that dtype (llama-quantize makes it).
"""

import json
import statistics
import subprocess
import sys


def output_of(*command: str):
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def main() -> None:
    program, llama_bench, model, peer_model, dtype, threads, prompt, fresh, rounds, *level = sys.argv[1:]
    ours, prefill, decode = [], [], []

    def peer_rate(*what: str) -> float:
        return output_of(llama_bench, "-m", peer_model, "-t", threads, *what, "-r", "3", "-o", "json")[0]["avg_ts"]

    for _ in range(int(rounds)):
        ours.append(output_of(program, model, dtype, threads, prompt, fresh, "3", *level))
        prefill.append(peer_rate("-p", prompt, "-n", "0"))
        decode.append(peer_rate("-p", "0", "-n", fresh, "-d", prompt))  # behind a prompt, as ours
    print(f"{ours[0]['device']}; {model} in {dtype}, {prompt} + {fresh} tokens")
    for name, peer in (("prefill", prefill), ("decode", decode)):
        our, other = statistics.median(o[f"{name}_tokens_per_second"] for o in ours), statistics.median(peer)
        print(f"  {name:8s} Parhelion {our:8.1f} tok/s   llama.cpp {other:8.1f} tok/s   ratio {our / other:.2f}")
    rate = statistics.median(o["decode_tokens_per_second"] for o in ours)
    print(f"  decode reads {ours[0]['weight_bytes'] * rate / 1e9:.2f} GB/s of weights")


if __name__ == "__main__":
    main()
