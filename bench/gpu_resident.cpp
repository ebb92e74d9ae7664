// A decode step of one row as one resident kernel: checks it against a plain f64 reference on the
// GPU, and times it by context, by depth of the ring, and by the way in which blocks wait.
// Usage: bench_gpu_resident [0.6b|8b]...; without arguments both. Exit 1 where a result is wrong.
#include "gpu_resident.h"

#include "base/error.h"

#include <fmt/format.h>

#include "gpu_resident_model.h"
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string_view>

namespace parhelion::bench {

void check(cudaError_t status, std::string_view what) {
  ensure(status == cudaSuccess, ErrorKind::device, "{}: {}", what, cudaGetErrorString(status));
}

namespace {

constexpr int kMostPositions = 4096 + kPageTokens;
constexpr int kSamples = 15;
constexpr double kOneLayer = 1e-2;   // of bf16 between ops
constexpr double kAllLayers = 4e-2;  // their sum over layers
constexpr int kLongContext = 1024;

bool all_right = true;

/// A non-blocking stream with what is timed on it.
class Timer {
 public:
  Timer() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    check(cudaEventCreate(&begin_), "event");
    check(cudaEventCreate(&end_), "event");
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaStreamDestroy(stream_);
  }
  cudaStream_t stream() const { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_), "a step"); }

  /// Median microseconds of what `enqueue` enqueues, replayed as a graph `runs` times a sample.
  double graph_microseconds(const std::function<void()>& enqueue, int runs) const {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t launchable = nullptr;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "capture");
    enqueue();
    check(cudaStreamEndCapture(stream_, &graph), "capture");
    check(cudaGraphInstantiate(&launchable, graph, 0), "cudaGraphInstantiate");
    std::vector<float> samples;
    for (int sample = 0; sample <= kSamples; ++sample) {
      check(cudaEventRecord(begin_, stream_), "event");
      for (int run = 0; run < runs; ++run) check(cudaGraphLaunch(launchable, stream_), "graph");
      check(cudaEventRecord(end_, stream_), "event");
      wait();
      float milliseconds = 0.0f;
      check(cudaEventElapsedTime(&milliseconds, begin_, end_), "event");
      if (sample > 0) samples.push_back(milliseconds * 1e3f / static_cast<float>(runs));
    }
    check(cudaGraphExecDestroy(launchable), "graph");
    check(cudaGraphDestroy(graph), "graph");
    std::ranges::nth_element(samples, samples.begin() + kSamples / 2);
    return static_cast<double>(samples[kSamples / 2]);
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

/// GB/s of a copy, read and written, which is printed beside that of reading alone.
double copy_rate(const Timer& timer) {
  constexpr std::int64_t kBytes = std::int64_t{1} << 30;
  const DeviceMemory from(kBytes);
  const DeviceMemory to(kBytes);
  const double copy = timer.graph_microseconds(
      [&] { launch_copy(to.as<void>(), from.as<void>(), kBytes, timer.stream()); }, 5);
  const double read = timer.graph_microseconds(
      [&] { launch_read(to.as<void>(), from.as<void>(), kBytes, timer.stream()); }, 5);
  fmt::print("copy {:.0f} GB/s, reading alone {:.0f} GB/s\n", 2e-3 * kBytes / copy,
             1e-3 * kBytes / read);
  return 2e-3 * kBytes / copy;
}

void time_exchanges(const Timer& timer) {
  const DeviceMemory words(1024 * sizeof(Word));
  const DeviceMemory state(3 * sizeof(std::uint32_t));
  const auto time = [&](const char* name, Exchange exchange, bool grid_sync, int pause) {
    ExchangeArgs args{words.as<Word>(), state.as<std::uint32_t>(), exchange, grid_sync, pause, 0};
    const auto microseconds = [&](int count) {
      args.count = count;
      return timer.graph_microseconds([&] { launch_exchanges(args, timer.stream()); }, 5);
    };
    const double one = microseconds(100);
    fmt::print("  {:22} {:6.3f} us\n", name, (microseconds(1100) - one) / 1000);
  };
  fmt::print("one exchange of 1024 numbers between {} blocks, nothing else:\n", kBlocks);
  time("words", Exchange::words, false, 0);
  time("words, pause 20 ns", Exchange::words, false, 20);
  time("words, pause 100 ns", Exchange::words, false, 100);
  time("counter", Exchange::counter, false, 0);
  time("grid.sync()", Exchange::words, true, 0);
}

/// Prints what is off by more than `allowed`, the answer's logit by ten times.
double worst_difference(const std::vector<Difference>& all, double allowed) {
  double worst = 0.0;
  for (const Difference& each : all) {
    const bool answer = each.what == "answer";
    if (each.relative > allowed * (answer ? 10 : 1)) {
      all_right = false;
      fmt::print("  WRONG: {} is off by {:.2e}, allowed are {:.0e}\n", each.what, each.relative,
                 allowed * (answer ? 10 : 1));
    }
    if (!answer) worst = std::max(worst, each.relative);
  }
  return worst;
}

void check_one_layer(ResidentModel& model, const Timer& timer) {
  fmt::print("one layer against f64, largest difference of its vectors:\n ");
  int token = 7;
  for (const int position : {0, 1, 63, 64, 65, 127, 1000, 1023, 1024, 4095}) {
    token = (token * 31 + 12345) % model.shape().vocabulary;
    model.place(token, position);
    model.refer(1);
    for (const Choice& choice : {Choice{"words"}, Choice{"counter", Exchange::counter, 3, false}}) {
      launch_step(model.args(choice, 1), timer.stream());
      timer.wait();
      fmt::print(" {}:{:.1e}", position, worst_difference(model.differences(1, true), kOneLayer));
    }
  }
  fmt::print("\n");
}

void time_step(const ResidentModel& model, const Timer& timer, const Choice& choice, double floor) {
  model.forget_steps();
  const StepArgs args = model.args(choice, model.shape().layers);
  const double time = timer.graph_microseconds([&] { launch_step(args, timer.stream()); }, 20);
  fmt::print("  {:34} {:2} stages {:8.1f} us {:5.1f} %", choice.name, args.stages, time,
             100 * floor / time);
  if (choice.exchange == Exchange::none) {
    fmt::print("  (not waiting: no result)\n");
    model.forget_steps();
    return;
  }
  const auto differences = model.differences(model.shape().layers, false);
  fmt::print("  difference {:.1e}\n", worst_difference(differences, kAllLayers));
}

void print_marks(const ResidentModel& model, const Timer& timer) {
  constexpr const char* kPhases[] = {"q, k, v", "attention", "merge", "o", "gate, up", "down"};
  const int layers = model.shape().layers;
  StepArgs args = model.args({"words"}, layers);
  args.marks = model.marks();
  for (int run = 0; run < 3; ++run) launch_step(args, timer.stream());
  timer.wait();
  const std::vector<std::int64_t> marks = download(model.marks(), std::int64_t{layers} * kMarks);
  fmt::print("  clocks of block 0, waiting for input + work, mean of layers:");
  for (int phase = 0; phase < kMarks / 2; ++phase) {
    double waited = 0.0;
    double worked = 0.0;
    for (int layer = 1; layer < layers; ++layer) {
      const std::int64_t* at =
          marks.data() + std::int64_t{kMarks} * layer + std::int64_t{2} * phase;
      waited += static_cast<double>(at[0] - at[-1]) / (layers - 1);
      worked += static_cast<double>(at[1] - at[0]) / (layers - 1);
    }
    fmt::print(" {} {:.0f}+{:.0f};", kPhases[phase], waited, worked);
  }
  fmt::print("\n");
}

void time_head(const ResidentModel& model, const Timer& timer, double rate) {
  const StepArgs args = model.args({"words"}, 0);
  const double time = timer.graph_microseconds([&] { launch_step(args, timer.stream()); }, 20);
  const double bytes = 2.0 * model.shape().hidden * model.shape().vocabulary;
  fmt::print("launch, embedding and head alone: {:.1f} us, floor {:.1f} us\n", time,
             bytes / rate * 1e-3);
}

void time_shape(const ResidentModel& model, const Timer& timer, double rate, int context) {
  const double bytes = model.step_bytes(context - 1);
  const double floor = bytes / rate * 1e-3;
  fmt::print("context {}: {:.3f} GB, floor {:.1f} us\n", context, bytes * 1e-9, floor);
  model.refer(model.shape().layers);
  time_step(model, timer, {"words"}, floor);
  print_marks(model, timer);
  if (context != kLongContext) return;
  for (const Choice& choice :
       {Choice{"words, pause 20 ns", Exchange::words, 0, true, 20},
        Choice{"words, pause 100 ns", Exchange::words, 0, true, 100},
        Choice{"words, shallow", Exchange::words, 6}, Choice{"words, shallow", Exchange::words, 3},
        Choice{"words, nothing ahead", Exchange::words, 0, false},
        Choice{"counter", Exchange::counter},
        Choice{"counter, nothing ahead", Exchange::counter, 0, false},
        Choice{"no waiting", Exchange::none}, Choice{"words again"}})
    time_step(model, timer, choice, floor);
}

void run_shape(std::string_view name, const Timer& timer, double rate) {
  ensure(name == "0.6b" || name == "8b", ErrorKind::invalid,
         "'{}' is no shape, expected 0.6b or 8b", name);
  const DecoderShape shape = name == "0.6b" ? DecoderShape{1024, 16, 3072, 28, 151936}
                                            : DecoderShape{4096, 32, 12288, 36, 151936};
  ResidentModel model(shape, kMostPositions);
  fmt::print("\n== shape {}: hidden {}, heads {}/{}, mlp {}, {} layers\n", name, shape.hidden,
             shape.heads, kKeyHeads, shape.mlp, shape.layers);
  check_one_layer(model, timer);
  time_head(model, timer, rate);
  for (const int context : {128, kLongContext, 4096}) {
    model.place(4321, context - 1);
    time_shape(model, timer, rate, context);
  }
}

void run(const std::vector<std::string_view>& shapes) {
  int multiprocessors = 0;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), "attribute");
  ensure(multiprocessors >= kBlocks, ErrorKind::unsupported,
         "the GPU has {} multiprocessors, expected {} or more", multiprocessors, kBlocks);
  const Timer timer;
  const double rate = copy_rate(timer);
  time_exchanges(timer);
  for (const std::string_view shape : shapes) run_shape(shape, timer, rate);
}

}  // namespace
}  // namespace parhelion::bench

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::vector<std::string_view> shapes(argv + 1, argv + argc);
  if (shapes.empty()) shapes = {"0.6b", "8b"};
  try {
    parhelion::bench::run(shapes);
    return parhelion::bench::all_right ? 0 : 1;
  } catch (const parhelion::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
