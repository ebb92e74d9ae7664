"""Alternates bench_matmul with PyTorch case by case and prints the median of each and their ratio.

Usage: matmul_compare.py BENCH_MATMUL [--threads N] [--rounds N] [--tier TIER] [--cases FILE]
Needs PyTorch in the Python that runs it.
"""

import argparse
import pathlib
import re
import statistics
import subprocess
import sys

FORMS = ("packed", "forward", "input_grad", "weight_grad")
SHAPES = (
    (512, 576, 576), (512, 1536, 576), (512, 576, 1536), (1024, 768, 768), (1024, 3072, 768),
    (1024, 768, 3072), (512, 2048, 1024), (512, 1024, 2048), (512, 6144, 1024), (512, 1024, 3072),
    (2048, 768, 768), (2048, 3072, 768),
)  # fmt: skip
HEADS = ((1024, 50304, 768), (512, 49152, 576))
DECODES = ((1, 50304, 768), (1, 49152, 576), (1, 6144, 1024), (4, 50304, 768), (8, 50304, 768))


def default_cases():
    for kind in ("f32", "bf16"):
        for shape in SHAPES + HEADS:
            for form in FORMS:
                yield (form, kind, *shape)
        for shape in DECODES:
            yield ("packed", kind, *shape)


def start(command):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    print(process.stdout.readline().strip(), flush=True)
    return process


def ask(process, line):
    process.stdin.write(line + "\n")
    process.stdin.flush()
    return process.stdout.readline()


def rate_of(answer):
    return float(re.search(r": ([\d.]+) GFLOP/s", answer).group(1))


def bandwidth_of(answer):
    found = re.search(r"([\d.]+) GB/s", answer)
    return f"  {found.group(1)} GB/s" if found else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bench")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tier", default="widest")
    parser.add_argument("--cases")
    options = parser.parse_args()
    peer_script = str(pathlib.Path(__file__).with_name("matmul_peer.py"))
    ours = start([options.bench, options.threads, options.tier])
    peer = start([sys.executable, peer_script, options.threads])
    lines = [" ".join(map(str, case)) for case in default_cases()]
    if options.cases:
        lines = pathlib.Path(options.cases).read_text().split("\n")
    for line in filter(None, lines):
        answers = [(ask(ours, line), ask(peer, line)) for _ in range(options.rounds)]
        mine = statistics.median(rate_of(answer) for answer, _ in answers)
        theirs = statistics.median(rate_of(answer) for _, answer in answers)
        print(f"{line:34} {mine:8.1f} {theirs:8.1f} GFLOP/s  {mine / theirs:5.2f}x"
              f"{bandwidth_of(answers[-1][0])}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
