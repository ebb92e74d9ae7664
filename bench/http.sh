#!/usr/bin/env bash
# http.sh BUILD [SECONDS]: token events/s of the null model through Parhelion's server and through FastAPI and
# uvicorn (of the Python that is active), one server thread each: as fast as they can, and in steps of 5 ms.
set -euo pipefail
build=$1
seconds=${2:-5}
here=$(dirname "$0")
model=$here/../tests/data/model/llama_tiny

measure() {  # NAME PORT PID
  for clients in 1 16 128; do
    echo "{\"server\":\"$1\",\"step_microseconds\":$step,\"result\":$("$build/bench/bench_http" load "$2" "$clients" 256 "$seconds" "$3")}"
  done
}

for step in 0 5000; do
  coproc ours { exec "$build/bench/bench_http" serve "$model" "$step"; }
  pid=$ours_PID
  read -r port <&"${ours[0]}"
  measure parhelion "$port" "$pid"
  kill "$pid"
  wait "$pid" 2> /dev/null || true
  "${PYTHON:-python3}" "$here/http_peer.py" 18765 "$step" &
  peer=$!
  until (exec 3<> /dev/tcp/127.0.0.1/18765) 2> /dev/null; do sleep 0.2; done
  measure fastapi 18765 "$peer"
  kill "$peer"
  wait "$peer" 2> /dev/null || true
done
