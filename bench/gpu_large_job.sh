#!/usr/bin/env bash
# gpu_large_job.sh PARHELION: a job on the shape of Qwen3-0.6B with random weights, as a user runs it: tokens/s,
# what checkpoints hold up, and the time from the start of a process to its first token.
set -euo pipefail
cd "$(dirname "$0")/.."
parhelion=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
config=$PWD/bench/qwen3_0_6b.json

"$parhelion" train examples/pretrain/job.toml --set run.device=cuda --set "run.directory=$out/run" --set "model.config=$config" \
  --set model.dtype=bf16 --set data.sequence_tokens=4096 --set data.microbatch_tokens=16384 --set 'schedule.phases=[]' --set schedule.initial=1.0 --set data.packing=concatenate \
  --set schedule.steps=100 --set checkpoint.every=50 --set checkpoint.keep=1 --set log.every=1 \
  --set evaluation.every=100 --set optimizer.lr=1e-4
for _ in 1 2; do
  begin=$(date +%s%N)
  "$parhelion" generate "$out/run" --device cuda --prompt "The light of the sun" --max-tokens 1 --json | grep -o '"timing".*'
  echo "first token after $((($(date +%s%N) - begin) / 1000000)) ms of process"
done
