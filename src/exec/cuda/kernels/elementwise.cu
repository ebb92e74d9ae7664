#include "exec/cuda/kernels/elementwise.h"
#include "exec/cuda/kernels/map.cuh"

namespace parhelion::exec::cuda {
namespace {

struct AddFunction {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct MultiplyFunction {
  __device__ float operator()(float a, float b) const { return a * b; }
};
struct ScaleFunction {
  float factor;
  __device__ float operator()(float x) const { return x * factor; }
};
struct SameFunction {
  __device__ float operator()(float x) const { return x; }
};
struct ConstantFunction {
  float value;
  __device__ float operator()() const { return value; }
};

template <class F>
void binary(std::string_view name, F f, const Binary& args, cudaStream_t stream) {
  with_type(args.kind, [&](auto type) {
    using T = decltype(type);
    launch_map(name, f, args.count, nullptr, stream, static_cast<T*>(args.y),
               static_cast<const T*>(args.a), static_cast<const T*>(args.b));
  });
}

constexpr int kBroadcastThreads = 256;

// y[r, c] = x[r] / divisor, one element per thread.
// Traffic: writes y; x comes from the caches.
__global__ void __launch_bounds__(kBroadcastThreads)
    broadcast_kernel(const float* x,  // [count / columns]
                     float* y,        // [count]
                     std::int64_t count, std::int64_t columns, float divisor) {
  wait_for_inputs();
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBroadcastThreads + threadIdx.x;
  if (i < count) y[i] = x[i / columns] / divisor;
}

}  // namespace

void add(const Binary& args, cudaStream_t stream) { binary("add", AddFunction{}, args, stream); }

void multiply(const Binary& args, cudaStream_t stream) {
  binary("multiply", MultiplyFunction{}, args, stream);
}

void scale(const Scale& args, cudaStream_t stream) {
  with_type(args.kind, [&](auto type) {
    using T = decltype(type);
    launch_map("scale", ScaleFunction{args.factor}, args.count, nullptr, stream,
               static_cast<T*>(args.y), static_cast<const T*>(args.x));
  });
}

void cast(const Cast& args, cudaStream_t stream) {
  with_type(args.from, [&](auto from) {
    with_type(args.to, [&](auto to) {
      launch_map("cast", SameFunction{}, args.count, nullptr, stream,
                 static_cast<decltype(to)*>(args.y), static_cast<const decltype(from)*>(args.x));
    });
  });
}

void fill(ir::Kind kind, float value, void* y, std::int64_t count, cudaStream_t stream) {
  with_type(kind, [&](auto type) {
    launch_map("fill", ConstantFunction{value}, count, nullptr, stream,
               static_cast<decltype(type)*>(y));
  });
}

void accumulate(const Accumulate& args, cudaStream_t stream) {
  with_type(args.kind, [&](auto type) {
    const float* sum = args.acc;
    launch_map("accumulate", AddFunction{}, args.count, args.gate, stream, args.acc, sum,
               static_cast<const decltype(type)*>(args.x));
  });
}

void broadcast(const Broadcast& args, cudaStream_t stream) {
  const std::int64_t count = args.rows * args.columns;
  const float divisor = args.mean ? static_cast<float>(args.columns) : 1.0f;
  launch("broadcast", broadcast_kernel, block_count(count, kBroadcastThreads), kBroadcastThreads,
         stream, args.x, args.y, count, args.columns, divisor);
}

}  // namespace parhelion::exec::cuda
