// Layers of a dense decoder for one row as one kernel: blocks stay for all layers, tell each other
// their parts of every vector through the L2, and stream weights and keys ahead of their use.
#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/resident.h"
#include "exec/cuda/kernels/resident_attention.cuh"
#include "exec/cuda/kernels/resident_worker.cuh"

namespace parhelion::exec::cuda {
namespace resident {
namespace {

constexpr int kThreads = kComputing + 32;
constexpr int kSharedBytes = 227 * 1024;
constexpr std::size_t kMostParameterBytes = 32764;
static_assert(sizeof(ResidentStep) <= kMostParameterBytes);

template <int group>
class Step {
 public:
  __device__ __forceinline__ Step(const ResidentStep& args, Worker& worker,
                                  SplitAttention<group>& attention)
      : args_(args),
        shape_(args.shape),
        words_(args.words),
        worker_(worker),
        attention_(attention),
        before_(*args.words.epoch),
        epoch_(before_ + 1) {}

  __device__ __forceinline__ void run() {
    keep_residual();
    for (int at = 0; at < shape_.layers; ++at, ++epoch_) {
      const ResidentLayer& layer = args_.layers[at];
      project(layer, at == 0);
      attention_.attend(layer, epoch_);
      attention_.merge_splits(epoch_);
      add_product(words_.attended, shape_.attention_columns(), words_.middle, epoch_);
      activate(layer);
      add_product(words_.activated, shape_.mlp, words_.x, epoch_ + 1);
    }
    if (worker_.block == 0) finish();
  }

 private:
  __device__ __forceinline__ void keep_residual() const {
    const GroupRange range(shape_.hidden, worker_.block);
    for (int row = static_cast<int>(threadIdx.x); row < range.rows(); row += kComputing)
      worker_.residual(row) = __bfloat162float(args_.x[range.first_row() + row]);
  }

  __device__ __forceinline__ void project(const ResidentLayer& layer, bool is_first) {
    const GroupRange range(shape_.qkv_rows(), worker_.block);
    const float squares = is_first
                              ? worker_.read_input(args_.x, shape_.hidden, layer.gain)
                              : worker_.read_input(words_.x, shape_.hidden, layer.gain, epoch_);
    worker_.product(range.groups(), shape_.hidden);
    const float scale = worker_.settle_norm(squares, shape_.hidden, args_.eps);
    write_rows(words_.qkv + range.first_row() / 2, range.rows(), epoch_,
               [&](int row) { return worker_.row_sum(row) * scale; });
  }

  /// The residual and a product, rounded once.
  __device__ __forceinline__ void add_product(const Word* input, int columns, Word* output,
                                              std::uint32_t output_epoch) {
    const GroupRange range(shape_.hidden, worker_.block);
    worker_.read_input(input, columns, nullptr, epoch_);
    worker_.product(range.groups(), columns);
    worker_.settle();
    write_rows(output + range.first_row() / 2, range.rows(), output_epoch, [&](int row) {
      float& residual = worker_.residual(row);
      return residual = rounded(residual + worker_.row_sum(row));
    });
  }

  __device__ __forceinline__ void activate(const ResidentLayer& layer) {
    const GroupRange range(shape_.mlp, worker_.block);
    const int rows = range.rows();
    const float squares = worker_.read_input(words_.middle, shape_.hidden, layer.mlp_gain, epoch_);
    worker_.product(2 * range.groups(), shape_.hidden);
    const float scale = worker_.settle_norm(squares, shape_.hidden, args_.eps);
    write_rows(words_.activated + range.first_row() / 2, rows, epoch_, [&](int row) {
      const float gate = worker_.row_sum(row) * scale;
      const float up = worker_.row_sum(rows + row) * scale;
      return __fdividef(gate, 1.0f + __expf(-gate)) * up;
    });
  }

  /// The last residual and its norm. Who has told its part of it has read x and the epoch.
  __device__ __forceinline__ void finish() {
    const float squares = worker_.read_input(words_.x, shape_.hidden, nullptr, epoch_);
    const float scale = worker_.settle_norm(squares, shape_.hidden, args_.eps);
    worker_.for_input(shape_.hidden, [&](int column, uint2 numbers) {
      const uint2 gain = Worker::four_of(args_.last_gain + column);
      const uint2 normed =
          make_uint2(normed_pair(numbers.x, gain.x, scale), normed_pair(numbers.y, gain.y, scale));
      *reinterpret_cast<uint2*>(args_.residual + column) = numbers;
      *reinterpret_cast<uint2*>(args_.normed + column) = normed;
    });
    if (threadIdx.x == 0) *words_.epoch = before_ + static_cast<unsigned>(shape_.layers) + 1;
  }

  static __device__ __forceinline__ std::uint32_t normed_pair(std::uint32_t numbers,
                                                              std::uint32_t gains, float scale) {
    const float2 x = unpacked(numbers);
    const float2 gain = unpacked(gains);
    return packed(gain.x * rounded(x.x * scale), gain.y * rounded(x.y * scale));
  }

  const ResidentStep& args_;
  const ResidentShape& shape_;
  const ResidentWords& words_;
  Worker& worker_;
  SplitAttention<group>& attention_;
  const std::uint32_t before_;
  std::uint32_t epoch_;
};

// Traffic: reads every weight of the layers and the row's keys and values once; vectors stay in the
// L2. Needs all blocks resident, so a cooperative launch.
template <int group>
__global__ void __launch_bounds__(kThreads, 1)
    step_kernel(const __grid_constant__ ResidentStep args) {
  wait_for_inputs();
  extern __shared__ __align__(128) char shared[];
  const SharedLayout layout(args.shape);
  const Ring ring{shared_address(shared), shared + layout.ring, args.stages};
  if (threadIdx.x == 0) ring.init();
  __syncthreads();
  if (threadIdx.x >= kComputing) {
    Producer(args, ring).run();
  } else {
    Worker worker(args, ring, shared);
    SplitAttention<group> attention(args, worker, shared);
    Step<group>(args, worker, attention).run();
  }
}

using StepKernel = void (*)(ResidentStep);

StepKernel kernel_of(int group) {
  switch (group) {
    case 1:
      return step_kernel<1>;
    case 2:
      return step_kernel<2>;
    case 3:
      return step_kernel<3>;
    case 4:
      return step_kernel<4>;
    case 5:
      return step_kernel<5>;
    case 8:
      return step_kernel<8>;
    default:
      return nullptr;
  }
}

/// Takes arrays of words one after the other.
class WordCursor {
 public:
  explicit WordCursor(std::byte* memory) : memory_(memory) {}
  Word* words(std::int64_t count) {
    constexpr std::int64_t kAlignment = 256;
    const std::int64_t at = bytes_;
    bytes_ += (count * std::int64_t{sizeof(Word)} + kAlignment - 1) / kAlignment * kAlignment;
    return memory_ == nullptr ? nullptr : reinterpret_cast<Word*>(memory_ + at);
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  std::int64_t bytes_ = 0;
};

ResidentWords take_words(const ResidentShape& shape, WordCursor& cursor) {
  ResidentWords words;
  words.x = cursor.words(shape.hidden / 2);
  words.qkv = cursor.words(shape.qkv_rows() / 2);
  words.parts = cursor.words(std::int64_t{kBlocks} * shape.group() * kColumns * 2);
  words.attended = cursor.words(shape.attention_columns() / 2);
  words.middle = cursor.words(shape.hidden / 2);
  words.activated = cursor.words(shape.mlp / 2);
  words.epoch = reinterpret_cast<std::uint32_t*>(cursor.words(1));
  return words;
}

}  // namespace
}  // namespace resident

std::int64_t resident_bytes(const ResidentShape& shape) {
  resident::WordCursor cursor(nullptr);
  resident::take_words(shape, cursor);
  return cursor.bytes();
}

ResidentWords resident_words(const ResidentShape& shape, std::byte* memory) {
  resident::WordCursor cursor(memory);
  return resident::take_words(shape, cursor);
}

int resident_stages(const ResidentShape& shape) {
  const int room = resident::kSharedBytes - resident::SharedLayout(shape).ring;
  const int fit = room > 0 ? room / resident::kStageBytes : 0;
  return fit < resident::kMostStages ? fit : resident::kMostStages;
}

bool has_resident_group(int group) { return resident::kernel_of(group) != nullptr; }

void resident_step(const ResidentStep& args, cudaStream_t stream) {
  const resident::StepKernel kernel = resident::kernel_of(args.shape.group());
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             resident::kSharedBytes),
        "cudaFuncSetAttribute");
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(resident::kBlocks);
  config.blockDim = dim3(resident::kThreads);
  config.dynamicSmemBytes = static_cast<std::size_t>(resident::SharedLayout(args.shape).ring +
                                                     args.stages * resident::kStageBytes);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, kernel, args), "resident_step");
}

}  // namespace parhelion::exec::cuda
