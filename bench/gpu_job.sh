#!/usr/bin/env bash
# gpu_job.sh PARHELION [DEVICE [STEPS]]: trains examples/pretrain on a GPU, goes on from a checkpoint, and scores what was
# trained through every path; stops a run by a signal in the middle of a step and goes on; runs two processes at once.
# Ends with an error where bits differ. DEVICE is cuda unless told. STEPS, of the run that is stopped, must last until then.
set -euo pipefail
cd "$(dirname "$0")/.."
parhelion=$1
device=${2:-cuda}
long_steps=${3:-4000}
out=$(mktemp -d)
trap 'jobs -p | xargs -r kill 2> /dev/null; rm -rf "$out"' EXIT

job=("$parhelion" train examples/pretrain/job.toml --set schedule.steps=120 --set checkpoint.every=60
  --set checkpoint.keep=0 --set evaluation.every=60)
train() {  # train RUN OPTION...
  local run=$1
  shift
  "${job[@]}" --set "run.directory=$out/$run" "$@"
}

same() {  # same WHAT FILE FILE
  cmp -s "$2" "$3" || { echo "DIFFERENT: $1"; exit 1; }
  echo "same bits: $1"
}

same_checkpoint() {  # same_checkpoint WHAT RUN RUN STEP
  local file step
  step=$(printf 'checkpoints/step-%08d' "$4")
  for file in parameters optimizer; do
    same "$1: $file" "$out/$2/$step/$file.safetensors" "$out/$3/$step/$file.safetensors"
  done
}

bf16=(--set "run.device=$device" --set model.dtype=bf16)
for dtype in bf16 f32; do
  train "$dtype" --set "run.device=$device" --set "model.dtype=$dtype" | tail -4
  cp -r "$out/$dtype" "$out/$dtype-resumed"
  rm -r "$out/$dtype-resumed/checkpoints/step-00000120"
  train "$dtype-resumed" --set "run.device=$device" --set "model.dtype=$dtype" | tail -1
  same_checkpoint "$dtype, after going on from step 60" "$dtype" "$dtype-resumed" 120
  head -c 700 examples/pretrain/held-out.txt > "$out/text"
  for numerics in exact invariant; do
    for through in train prefill chunks=1 chunks=7 chunks=64 decode; do
      "$parhelion" score "$out/$dtype" "$out/text" --device "$device" --dtype "$dtype" --numerics "$numerics" --json \
        --through "$through" > "$out/$through.json"
      [[ $through == train ]] || same "$dtype, $numerics: $through and train" "$out/train.json" "$out/$through.json"
    done
  done
done

# A signal while steps of four microbatches run: the run saves behind the step, and goes on with the bits of one left alone.
long=(--set "run.device=$device" --set model.dtype=bf16 --set "schedule.steps=$long_steps" --set data.microbatches=4
  --set "checkpoint.every=$long_steps" --set "evaluation.every=$long_steps")
train long "${long[@]}" | tail -1
set -m  # a process in the background does not ignore SIGINT then
"${job[@]}" --set "run.directory=$out/stopped" "${long[@]}" > "$out/lines" 2>&1 &
stopped=$!
until grep -qs '"step":10,' "$out/stopped/metrics.jsonl"; do
  kill -0 "$stopped" || { cat "$out/lines"; exit 1; }
  sleep 0.01
done
kill -INT "$stopped"
code=0
wait "$stopped" || code=$?
set +m
tail -3 "$out/lines"
[[ $code == 130 ]] || { echo "ended with $code, expected 130"; exit 1; }
train stopped "${long[@]}" | tail -1
same_checkpoint "after a signal and going on" long stopped "$long_steps"

# Two processes on one device at once.
train beside "${bf16[@]}" > "$out/beside.lines" 2>&1 &
beside=$!
train also "${bf16[@]}" > "$out/also.lines" 2>&1 &
also=$!
wait "$beside" || { cat "$out/beside.lines"; exit 1; }
wait "$also" || { cat "$out/also.lines"; exit 1; }
same_checkpoint "one process beside another" bf16 beside 120
same_checkpoint "the other" bf16 also 120

train cpu --set model.dtype=f32 | tail -2
for run in cpu f32 bf16; do
  echo "$run: $(grep '"loss"' "$out/$run/metrics.jsonl" | tail -1 | cut -c1-200)"
done
"$parhelion" generate "$out/bf16" --device "$device" --prompt "The light of the sun" --max-tokens 40 --seed 1
