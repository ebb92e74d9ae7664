"""Times PyTorch's matmul for the cases of bench_matmul: same lines in, same lines out."""

import sys
import time

import torch

KINDS = {"f32": torch.float32, "bf16": torch.bfloat16}


def best_seconds(run):
    """The best of several runs: other work on the machine only slows a run down."""
    run()
    best, spent, count = 1e30, 0.0, 0
    while count < 200 and (count < 5 or spent < 0.3):
        start = time.perf_counter()
        run()
        seconds = time.perf_counter() - start
        best, spent, count = min(best, seconds), spent + seconds, count + 1
    return best


def runner(form, kind, tokens, outputs, inputs):
    x = torch.rand(tokens, inputs).to(KINDS[kind])
    w = torch.rand(outputs, inputs).to(KINDS[kind])
    y = torch.rand(tokens, outputs).to(KINDS[kind])
    if form == "input_grad":
        dx = torch.empty_like(x)
        return lambda: torch.mm(y, w, out=dx)
    if form == "weight_grad":
        dw = torch.zeros_like(w)
        return lambda: dw.addmm_(y.t(), x)
    return lambda: torch.mm(x, w.t(), out=y)


def main():
    torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
    print(f"# PyTorch {torch.__version__}, {torch.get_num_threads()} threads", flush=True)
    for line in sys.stdin:
        form, kind, *sizes = line.split()
        tokens, outputs, inputs = (int(size) for size in sizes)
        with torch.no_grad():
            seconds = best_seconds(runner(form, kind, tokens, outputs, inputs))
        rate = 2e-9 * tokens * outputs * inputs / seconds
        print(f"{form} {kind} {tokens} {outputs} {inputs}: {rate:.1f} GFLOP/s", flush=True)


if __name__ == "__main__":
    main()
