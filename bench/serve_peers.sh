#!/usr/bin/env bash
# serve_peers.sh BUILD LLAMA_SERVER MODEL.gguf [ROUNDS [PEER_ONLY.gguf]]: completions over HTTP from `parhelion serve` and
# from llama.cpp's server on the same bf16 file with 2 threads each, in turns: 1, 4 and 16 clients, 256 random prompt tokens
# and 128 new ones for each request. PEER_ONLY.gguf is served by llama.cpp alone, for information. Prints a line of JSON a run.
set -euo pipefail
build=$1 llama_server=$2 model=$3 rounds=${4:-3} other=${5:-}
vocabulary=49152
load=$build/bench/bench_http_load

# start NAME PORT COMMAND...: starts a server and waits until it answers.
start() {
  local name=$1 port=$2
  shift 2
  "$@" > "/tmp/serve_peers_$name.log" 2>&1 &
  server=$!
  for ((i = 0; i < 600; ++i)); do
    if curl --silent --fail "http://127.0.0.1:$port/health" > /dev/null; then return; fi
    kill -0 "$server" 2> /dev/null || { cat "/tmp/serve_peers_$name.log" >&2; exit 1; }
    sleep 0.1
  done
}
ours() { start parhelion 18801 "$build/src/app/parhelion" serve "$model" --threads 2 --port 18801 --max-rows "$1" --context 512 --quiet --no-prefix-cache; port=18801; }
peer() { start llama 18802 "$llama_server" --model "$2" --threads 2 --threads-batch 2 --port 18802 --parallel "$1" --ctx-size $(($1 * 512)); port=18802; }
stop() { kill "$server"; wait "$server" 2> /dev/null || true; }

measure() {  # NAME CLIENTS SEED
  "$load" "$port" "$2" 256 16 "$2" "$vocabulary" 0 $((1000 + $3)) > /dev/null  # touches everything once
  echo "{\"server\":\"$1\",\"load\":\"$(cut -d' ' -f1 /proc/loadavg)\",\"result\":$("$load" "$port" "$2" 256 128 $((2 * $2 > 4 ? 2 * $2 : 4)) "$vocabulary" 0 "$3")}"
}

for ((round = 1; round <= rounds; ++round)); do
  for clients in 1 4 16; do
    ours "$clients"; measure parhelion "$clients" "$round"; stop
    peer "$clients" "$model"; measure llama.cpp "$clients" "$round"; stop
    if [[ -n $other ]]; then peer "$clients" "$other"; measure "llama.cpp $(basename "$other" .gguf)" "$clients" "$round"; stop; fi
  done
done
