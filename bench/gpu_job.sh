#!/usr/bin/env bash
# gpu_job.sh PARHELION: trains examples/pretrain on a GPU, goes on from a checkpoint, and scores what was trained
# through every path. Ends with an error where bits differ.
set -euo pipefail
cd "$(dirname "$0")/.."
parhelion=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

train() {  # train RUN OPTION...
  local run=$1
  shift
  "$parhelion" train examples/pretrain/job.toml --set "run.directory=$out/$run" --set schedule.steps=120 \
    --set checkpoint.every=60 --set checkpoint.keep=0 --set evaluation.every=60 "$@"
}

same() {  # same WHAT FILE FILE
  cmp -s "$2" "$3" || { echo "DIFFERENT: $1"; exit 1; }
  echo "same bits: $1"
}

for dtype in bf16 f32; do
  train "$dtype" --set run.device=cuda --set "model.dtype=$dtype" | tail -4
  cp -r "$out/$dtype" "$out/$dtype-resumed"
  rm -r "$out/$dtype-resumed/checkpoints/step-00000120"
  train "$dtype-resumed" --set run.device=cuda --set "model.dtype=$dtype" | tail -1
  for file in parameters optimizer; do
    same "$dtype: $file after going on from step 60" "$out/$dtype/checkpoints/step-00000120/$file.safetensors" \
      "$out/$dtype-resumed/checkpoints/step-00000120/$file.safetensors"
  done
  head -c 700 examples/pretrain/held-out.txt > "$out/text"
  for numerics in exact invariant; do
    for through in train prefill chunks=1 chunks=7 chunks=64 decode; do
      "$parhelion" score "$out/$dtype" "$out/text" --device cuda --dtype "$dtype" --numerics "$numerics" --json \
        --through "$through" > "$out/$through.json"
      [[ $through == train ]] || same "$dtype, $numerics: $through and train" "$out/train.json" "$out/$through.json"
    done
  done
done
train cpu --set model.dtype=f32 | tail -2
for run in cpu f32 bf16; do
  echo "$run: $(grep '"loss"' "$out/$run/metrics.jsonl" | tail -1 | cut -c1-200)"
done
"$parhelion" generate "$out/bf16" --device cuda --prompt "The light of the sun" --max-tokens 40 --seed 1
