#!/usr/bin/env bash
# serve_prefix.sh BUILD MODEL [PREFIX [NEW [REQUESTS]]]: time to the first token over HTTP of prompts of PREFIX + NEW tokens whose
# prefix no request has had (cold), that all begin alike (hit), and of the NEW tokens alone. Prints a line of JSON each.
set -euo pipefail
build=$1 model=$2 prefix=${3:-2048} fresh=${4:-64} requests=${5:-9}
port=18803
"$build/src/app/parhelion" serve "$model" --threads 2 --port $port --max-rows 1 --context 4096 --cache-tokens 65536 --quiet > /dev/null &
server=$!
trap 'kill "$server"; wait "$server" || true' EXIT
until curl --silent --fail "http://127.0.0.1:$port/health" > /dev/null; do sleep 0.1; done

measure() {  # NAME PROMPT SHARED SEED REQUESTS
  echo "{\"prompt\":\"$1\",\"load\":\"$(cut -d' ' -f1 /proc/loadavg)\",\"result\":$("$build/bench/bench_http_load" $port 1 "$2" 2 "$5" 49152 "$3" "$4")}"
}

measure "warm-up" $((prefix + fresh)) 0 1 1 > /dev/null
for round in 1 2 3; do
  measure "cold" $((prefix + fresh)) 0 $((10 + round)) 3
  measure "hit" $((prefix + fresh)) "$prefix" $((20 + round)) "$requests"  # the first is cold, the median is not
  measure "new part alone" "$fresh" 0 $((30 + round)) "$requests"
done
