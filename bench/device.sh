#!/usr/bin/env bash
# The CUDA executor on a GPU machine, in one call: checks it against the float64 references, then times it.
#
#   bench/device.sh bundle           builds, and packs programs with the libraries they need in build/device.tgz
#   bench/device.sh run PART...      runs parts of that bundle on this machine's GPU; without PART: all of them
#
# Parts: check (conformance), sanitize (memcheck, racecheck and initcheck over small cases), job (a small job, and its bits
# through every path), large-job (one of 0.6B parameters, and its checkpoints), attention, train,
# decode, levels (what exact and invariant cost by family), serve (a core made and served; a busy engine), explain (kernels against the roofline),
# peer-train, peer-decode. A machine with every package of the README needs no bundle from elsewhere: `bundle`, then `run`.
set -euo pipefail
cd "$(dirname "$0")/.."
bundle=build/device
programs=(src/app/parhelion tests/exec/exec_gpu_test bench/bench_train_step bench/bench_gpu_attention bench/bench_serve_saturation)

# Libraries that a bare GPU machine lacks: all but those of the compiler, the driver and CUDA.
copy_libraries() {
  ldd "$1" | awk '$2 == "=>" && $3 ~ /^\// {print $3}' |
    grep -v -E '/(libc|libm|libstdc\+\+|libgcc_s|libpthread|libdl|librt|libgomp|libcuda|libcudart|libcublas.*|libcudnn.*|libnvrtc.*|ld-linux.*)\.so' |
    xargs -r cp -Lu -t "$bundle/lib"
}

make_bundle() {
  tools/fetch-gpu-headers
  cmake --preset cuda > /dev/null
  cmake --build build/cuda --target "${programs[@]##*/}"
  rm -rf "$bundle" && mkdir -p "$bundle/lib"
  for program in "${programs[@]}"; do
    strip -o "$bundle/${program##*/}" "build/cuda/$program"
    copy_libraries "build/cuda/$program"
  done
  tar -czf "$bundle.tgz" -C build device
  du -sh "$bundle" "$bundle.tgz"
}

# cuDNN 9.19 or later may be that of a Python package.
cudnn_folder() {
  python3 -c 'import nvidia.cudnn, pathlib; print(pathlib.Path(list(nvidia.cudnn.__path__)[0]) / "lib")' 2> /dev/null || true
}

step() { printf '\n== %s (%d s)\n' "$*" "$SECONDS"; "$@"; }

run_check() { step "$bundle/exec_gpu_test" --gtest_brief=1; }
# Small cases that together launch most of our kernels. memcheck looks at what libraries do too. racecheck and initcheck look at
# our kernels alone, in families that no library has a part in: racecheck fails inside kernels of libraries, and initcheck does not see
# what those have written.
sanitize() {  # sanitize TOOL FILTER OPTION...
  local tool=$1 filter=$2
  shift 2
  PATH="$PATH:/usr/local/cuda/bin" timeout 150 compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 20 "$@" \
    "$bundle/exec_gpu_test" --gtest_brief=1 --gtest_filter="$filter"
}
run_sanitize() {
  local reference=Families/CudaConformance.AgreesWithTheFloat64Reference
  local programs=CudaNan.InWeightsGivesNanLogits:CudaNan.InWeightsGivesANanLossAndNanGradients
  local fusions=CudaFusions.KeepAGradientThatOthersReadToo:CudaFusions.KeepATurnedGradientThatOthersReadToo:CudaFusions.KeepAKeyThatOthersReadToo
  local own="$reference/norm:$reference/sample:$reference/update:$reference/reduce:$reference/gather:$reference/elementwise"
  local status=0
  step sanitize memcheck "$programs:$fusions:$own" || status=1
  step sanitize racecheck "$own" --kernel-name kns=parhelion || status=1
  step sanitize initcheck "$own" --kernel-name kns=parhelion || status=1
  return "$status"
}
run_attention() { step "$bundle/bench_gpu_attention"; }
run_train() {
  for shape in "4 4096 cuda" "8 4096 cuda" "8 4096 cuda:fast"; do
    read -r batch tokens device <<< "$shape"
    step "$bundle/bench_train_step" "$batch" "$tokens" bf16 "$device" 5 bench/qwen3_0_6b.json
  done
  step "$bundle/bench_train_step" 4 4096 bf16 cuda 5 bench/qwen3_1_7b.json
}
run_decode() {
  local numerics
  for numerics in exact invariant fast; do
    step "$bundle/parhelion" bench bench/qwen3_0_6b.json --random --device cuda --numerics "$numerics" \
      --batch 1,64,256 --context 128,1024 --prompt 512,4096
  done
}
run_levels() {
  step "$bundle/parhelion" bench bench/qwen3_0_6b.json --random --device cuda --numerics all --batch 1,64,256 \
    --context 1024 --prompt 512,4096
}
run_serve() {
  local numerics
  step bench/gpu_serve.sh "$bundle/parhelion"
  for numerics in fast invariant exact; do
    step "$bundle/bench_serve_saturation" bench/qwen3_0_6b.json "cuda:$numerics" 256 100 1024 512 8192
  done
  step "$bundle/bench_serve_saturation" bench/qwen3_0_6b.json cuda:fast 256 100 1024 1536 8192
}
explain_sums() { "$bundle/parhelion" explain bench/qwen3_0_6b.json --device cuda "$@" | sed -n '/^measured/p; /^by kernel/,/^all/p'; }
run_explain() {
  step explain_sums --numerics fast --context 1024
  step explain_sums --batch 64 --context 1024
  step explain_sums --tokens 4096 --context 4096
  step explain_sums --entry gradients --batch 4 --tokens 4096
}
run_job() { step bench/gpu_job.sh "$bundle/parhelion"; }
run_large_job() { step bench/gpu_large_job.sh "$bundle/parhelion"; }
run_peer_train() { step python3 bench/gpu_train_peer.py bench/qwen3_0_6b.json 8 4096; }
run_peer_decode() { step python3 bench/gpu_decode_peer.py bench/qwen3_0_6b.json; }

run_parts() {
  if [[ ! -d $bundle ]]; then tar -xzf "$bundle.tgz" -C build; fi
  LD_LIBRARY_PATH="$PWD/$bundle/lib:$(cudnn_folder):/usr/local/cuda/lib64:${LD_LIBRARY_PATH:-}"
  export LD_LIBRARY_PATH
  nvidia-smi --query-gpu=name,driver_version,clocks.sm --format=csv,noheader
  local parts=("$@")
  ((${#parts[@]} > 0)) || parts=(check sanitize job large-job attention train decode levels serve explain peer-train peer-decode)
  for part in "${parts[@]}"; do "run_${part//-/_}"; done
}

case "${1:-}" in
  bundle) make_bundle ;;
  run) shift && run_parts "$@" ;;
  *) sed -n '2,11s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
