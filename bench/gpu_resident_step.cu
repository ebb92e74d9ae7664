// A decode step of one row as one kernel: blocks stay for all layers, tell each other their parts
// of every vector through the L2, and stream weights and keys ahead of their use.
#include "gpu_resident.h"
#include "gpu_resident_attention.cuh"
#include "gpu_resident_ring.cuh"
#include "gpu_resident_worker.cuh"
#include <cmath>

namespace parhelion::bench {
namespace {

constexpr int kThreads = kComputing + 32;
constexpr int kSharedBytes = 227 * 1024;

struct Best {
  float value = -INFINITY;
  int row = 0;

  /// The larger, at equal values the first.
  __device__ __forceinline__ void take(float other_value, int other_row) {
    if (other_value < value || (other_value == value && other_row >= row)) return;
    value = other_value;
    row = other_row;
  }
  __device__ __forceinline__ void take_lanes() {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      const float other = __shfl_xor_sync(kAllLanes, value, step);
      take(other, __shfl_xor_sync(kAllLanes, row, step));
    }
  }
};

template <int group>
class Step {
 public:
  __device__ __forceinline__ Step(const StepArgs& args, Worker& worker,
                                  SplitAttention<group>& attention, char* shared)
      : args_(args),
        model_(args.model),
        shape_(args.model.shape),
        told_(args.exchanged),
        worker_(worker),
        attention_(attention),
        epoch_(worker.exchanger.epoch() + 1),
        best_(reinterpret_cast<Best*>(shared + SharedLayout(shape_).merged)) {}

  __device__ __forceinline__ void run() {
    embed();
    for (int layer = 0; layer < shape_.layers; ++layer, ++epoch_) {
      project(layer);
      attention_.attend(layer, epoch_);
      attention_.merge_splits(layer, epoch_);
      add_product(layer, 3, told_.attended, shape_.attention_columns(), told_.middle, epoch_);
      activate(layer);
      add_product(layer, 5, told_.activated, shape_.mlp, told_.x, epoch_ + 1);
    }
    find_best();
  }

 private:
  __device__ __forceinline__ const Bf16* gains_of(int layer) const {
    return model_.gains + std::int64_t{layer} * shape_.gains();
  }

  __device__ __forceinline__ void embed() {
    const int rows = shape_.hidden / kBlocks;
    const Bf16* row = model_.embedding + std::int64_t{*model_.token} * shape_.hidden +
                      std::int64_t{worker_.block} * rows;
    write_rows(told_.x + worker_.block * rows / 2, rows, epoch_,
               [&](int i) { return worker_.residual(i) = __bfloat162float(row[i]); });
    worker_.exchanger.end_writing();
  }

  __device__ __forceinline__ void project(int layer) {
    const int rows = shape_.qkv_rows() / kBlocks;
    const float squares = worker_.read_input(told_.x, shape_.hidden, gains_of(layer), epoch_);
    worker_.input_is_there(layer, 0);
    worker_.open_product();
    worker_.product(rows / kTileRows, shape_.hidden);
    const float scale = worker_.settle_norm(squares, shape_.hidden);
    write_rows(told_.qkv + worker_.block * rows / 2, rows, epoch_,
               [&](int row) { return worker_.row_sum(row) * scale; });
    worker_.output_is_written(layer, 0);
  }

  /// The residual and a product, rounded once.
  __device__ __forceinline__ void add_product(int layer, int phase, const Word* input, int columns,
                                              Word* output, std::uint32_t output_epoch) {
    const int rows = shape_.hidden / kBlocks;
    worker_.read_input(input, columns, nullptr, epoch_);
    worker_.input_is_there(layer, phase);
    worker_.open_product();
    worker_.product(rows / kTileRows, columns);
    worker_.settle();
    write_rows(output + worker_.block * rows / 2, rows, output_epoch, [&](int row) {
      float& residual = worker_.residual(row);
      return residual = rounded(residual + worker_.row_sum(row));
    });
    worker_.output_is_written(layer, phase);
  }

  __device__ __forceinline__ void activate(int layer) {
    const int rows = shape_.mlp / kBlocks;
    const float squares =
        worker_.read_input(told_.middle, shape_.hidden, gains_of(layer) + shape_.hidden, epoch_);
    worker_.input_is_there(layer, 4);
    worker_.open_product();
    worker_.product(2 * rows / kTileRows, shape_.hidden);
    const float scale = worker_.settle_norm(squares, shape_.hidden);
    write_rows(told_.activated + worker_.block * rows / 2, rows, epoch_, [&](int row) {
      const float gate = worker_.row_sum(row) * scale;
      const float up = worker_.row_sum(rows + row) * scale;
      return __fdividef(gate, 1.0f + __expf(-gate)) * up;
    });
    worker_.output_is_written(layer, 4);
  }

  __device__ __forceinline__ void find_best() {
    const HeadRange range(shape_, worker_.block);
    const int batch = SharedLayout(shape_).most_rows / kTileRows;
    const int thread = static_cast<int>(threadIdx.x);
    const float squares = worker_.read_input(told_.x, shape_.hidden, model_.last_gain, epoch_);
    worker_.open_product();
    Best best;
    for (int first = range.first; first < range.last; first += batch) {
      const int groups = min(batch, range.last - first);
      worker_.product(groups, shape_.hidden);
      const float scale = worker_.settle_norm(squares, shape_.hidden);
      if (thread < groups * kTileRows)
        best.take(worker_.row_sum(thread) * scale, first * kTileRows + thread);
    }
    best.take_lanes();
    if (worker_.lane == 0) best_[worker_.warp] = best;
    computing_barrier();
    if (thread == 0) tell_best();
    worker_.exchanger.end_writing();
    if (worker_.block == 0) answer();
  }

  __device__ __forceinline__ void tell_best() const {
    Best best = best_[0];
    for (int i = 1; i < kWarps; ++i) best.take(best_[i].value, best_[i].row);
    store_words(told_.best + worker_.block * 2, __float_as_uint(best.value),
                static_cast<unsigned>(best.row), epoch_);
  }

  /// The best of all blocks. They have read their state, so it can be that of the next launch.
  __device__ __forceinline__ void answer() {
    worker_.exchanger.begin_reading();
    if (worker_.warp != 0) return;
    constexpr int kShare = kBlocks / 32;
    uint2 words[kShare];
    worker_.exchanger.template read<kShare>(
        [&](int i) { return told_.best + (i * 32 + worker_.lane) * 2; }, kShare, epoch_, words);
    Best best;
    for (int i = 0; i < kShare; ++i)
      best.take(__uint_as_float(words[i].x), static_cast<int>(words[i].y));
    best.take_lanes();
    if (worker_.lane != 0) return;
    *args_.answer = best.row;
    *args_.logit = best.value;
    worker_.exchanger.close(static_cast<unsigned>(shape_.layers) + 1);
  }

  const StepArgs& args_;
  const Decoder& model_;
  const DecoderShape& shape_;
  const Exchanged& told_;
  Worker& worker_;
  SplitAttention<group>& attention_;
  std::uint32_t epoch_;
  Best* best_;
};

// One row through all layers and the head. Traffic: reads every weight and the row's keys and
// values once; vectors stay in the L2. Needs: all blocks resident, so a cooperative launch.
template <int group>
__global__ void __launch_bounds__(kThreads, 1) step_kernel(const __grid_constant__ StepArgs args) {
  extern __shared__ __align__(128) char shared[];
  const SharedLayout layout(args.model.shape);
  const Ring ring{shared_address(shared), shared + layout.ring, args.stages};
  auto* opened = reinterpret_cast<int*>(shared + layout.opened);
  if (threadIdx.x == 0) {
    *opened = 0;
    ring.init();
  }
  __syncthreads();
  if (threadIdx.x >= kComputing) {
    Producer(args, ring, opened).run();
  } else {
    Worker worker(args, ring, shared);
    SplitAttention<group> attention(args, worker, shared);
    Step<group>(args, worker, attention, shared).run();
  }
}

template <int group>
void launch_step_of(const StepArgs& args, cudaStream_t stream) {
  const auto bytes =
      static_cast<std::size_t>(SharedLayout(args.model.shape).ring + args.stages * kStageBytes);
  check(cudaFuncSetAttribute(step_kernel<group>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             kSharedBytes),
        "cudaFuncSetAttribute");
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(kBlocks);
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, step_kernel<group>, args), "the resident step");
}

}  // namespace

int most_stages(const DecoderShape& shape) {
  const int fit = (kSharedBytes - SharedLayout(shape).ring) / kStageBytes;
  return fit < kMostStages ? fit : kMostStages;
}

void launch_step(const StepArgs& args, cudaStream_t stream) {
  if (args.model.shape.heads == 2 * kKeyHeads) {
    launch_step_of<2>(args, stream);
  } else {
    launch_step_of<4>(args, stream);
  }
}

}  // namespace parhelion::bench
