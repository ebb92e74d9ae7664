"""Measures bench_tokenizer against Hugging Face tokenizers, in turns, by CPU time on one core.

usage: tokenizer_peer.py BENCH_TOKENIZER FILE ROUNDS TOKENIZER.json...

Prints for each tokenizer the median MB/s of both, the ratio, and whether the ids' count agrees.
Both start each round with an empty cache of words.
"""
import os

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

import statistics
import subprocess
import sys
import time

from tokenizers import Tokenizer


def our_run(bench, tokenizer, file):
    output = subprocess.run([bench, "speed", tokenizer, file, "1"], check=True, capture_output=True, text=True).stdout
    words = output.split()
    return float(words[1]), float(words[3]), int(words[5])


def their_run(tokenizer, text):
    start = time.process_time()
    count = len(tokenizer.encode(text, add_special_tokens=False).ids)
    return len(text.encode()) / 1e6 / (time.process_time() - start), count


def measure(bench, file, rounds, path):
    text = open(file, encoding="utf-8", newline="").read()
    loads, ours, theirs = [], [], []
    for _ in range(rounds):
        load, speed, count = our_run(bench, path, file)
        loads.append(load)
        ours.append(speed)
        speed, their_count = their_run(Tokenizer.from_file(path), text)
        theirs.append(speed)
        assert count == their_count, f"{path}: {count} tokens, expected {their_count}"
    us, them = statistics.median(ours), statistics.median(theirs)
    print(f"{os.path.basename(path)}: load {statistics.median(loads):.0f} ms, ours {us:.1f} MB/s, "
          f"Hugging Face {them:.2f} MB/s, ratio {us / them:.1f}")


def main():
    for path in sys.argv[4:]:
        measure(sys.argv[1], sys.argv[2], int(sys.argv[3]), path)


if __name__ == "__main__":
    main()
