#!/usr/bin/env bash
# gpu_serve.sh PARHELION [DEVICE]: trains examples/pretrain for a few steps, prepares what came of it as a core for the device,
# serves the core and compares its answers over HTTP with what `generate` says, alone and beside other requests, and its vectors
# with those of a server on the CPU. Ends with an error where they differ. DEVICE is cuda unless told.
set -euo pipefail
cd "$(dirname "$0")/.."
parhelion=$1
device=${2:-cuda}
port=18870
out=$(mktemp -d)
trap 'jobs -p | xargs -r kill 2> /dev/null; rm -rf "$out"' EXIT

"$parhelion" train examples/pretrain/job.toml --set "run.directory=$out/run" --set "run.device=$device" --set schedule.steps=60 \
  --set checkpoint.every=60 --set evaluation.every=60 | tail -1
"$parhelion" prepare "$out/run" -o "$out/model.core" --device "$device" --max-rows 8 --embeddings

start() {  # start MODEL DEVICE [OPTION...]
  "$parhelion" serve "$1" --allow-unsigned --device "$2" --port $port --quiet "${@:3}" > "$out/log" 2>&1 &
  server=$!
  until curl --silent --fail "http://127.0.0.1:$port/health/ready" > /dev/null; do
    kill -0 $server || { cat "$out/log"; exit 1; }
    sleep 0.05
  done
}
stop() {
  kill -TERM $server
  wait $server
  echo "the server ended by itself"
}
vectors() {
  curl --silent --fail "http://127.0.0.1:$port/v1/embeddings" -H 'content-type: application/json' \
    -d '{"model":"model","input":["The light of the sun","Mara looked at the ice and saw a halo","x"]}'
}

begin=$(date +%s%N)
start "$out/model.core" "$device"
echo "ready after $((($(date +%s%N) - begin) / 1000000)) ms of process"

answer() {  # answer PROMPT
  curl --silent --fail "http://127.0.0.1:$port/v1/completions" -H 'content-type: application/json' \
    -d "{\"model\":\"model\",\"prompt\":\"$1\",\"max_tokens\":48,\"temperature\":0}" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["choices"][0]["text"], end="")'
}
for prompt in "The light of the sun" "Mara looked at" "Question: What is a halo?"; do
  "$parhelion" generate "$out/run" --device "$device" --numerics invariant --prompt "$prompt" --max-tokens 48 --temperature 0 --json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["text"], end="")' > "$out/expected"
  answer "$prompt" > "$out/alone"
  for i in 1 2 3 4 5; do answer "Many words $i, and" > /dev/null & others[i]=$!; done
  answer "$prompt" > "$out/beside"
  wait "${others[@]}"
  for which in alone beside; do
    cmp -s "$out/expected" "$out/$which" || { echo "DIFFERENT, $which: $prompt"; head -c 300 "$out/expected" "$out/$which"; exit 1; }
  done
  echo "same answer alone and beside others: $prompt"
done
vectors > "$out/vectors"
stop
start "$out/run" cpu --embeddings --served-name model
vectors > "$out/vectors_cpu"
stop
python3 - "$out/vectors" "$out/vectors_cpu" <<'PYTHON'
import json, math, sys
ours, theirs = ([each["embedding"] for each in json.load(open(path))["data"]] for path in sys.argv[1:])
cosines = [sum(a * b for a, b in zip(x, y)) / math.hypot(*x) / math.hypot(*y) for x, y in zip(ours, theirs, strict=True)]
print("cosines of vectors with those of the CPU:", *(f"{each:.6f}" for each in cosines))
sys.exit(min(cosines) < 0.999)
PYTHON
