#include "graph_nodes.h"

#include "exec/cuda/driver.h"
#include "exec/cuda/handles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cuda.h>
#include <set>

namespace parhelion::bench {
namespace {

using exec::cuda::check;
using exec::cuda::Graph;
using exec::cuda::GraphExec;

constexpr int kReplays = 10;
constexpr int kSamples = 7;

template <class Function>
Function driver_call(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  check(cudaGetDriverEntryPointByVersion(name, &found, CUDART_VERSION, cudaEnableDefault, &result),
        name);
  return reinterpret_cast<Function>(found);
}

/// Libraries launch kernels by the driver, which alone knows their names.
std::string describe_kernel(cudaGraphNode_t node) {
  CUDA_KERNEL_NODE_PARAMS kernel{};
  check(driver_call<decltype(&cuGraphKernelNodeGetParams)>("cuGraphKernelNodeGetParams")(node,
                                                                                         &kernel),
        "cuGraphKernelNodeGetParams");
  const char* name = "?";
  if (kernel.func != nullptr) {
    check(driver_call<decltype(&cuFuncGetName)>("cuFuncGetName")(&name, kernel.func),
          "cuFuncGetName");
  } else {
    check(driver_call<decltype(&cuKernelGetName)>("cuKernelGetName")(&name, kernel.kern),
          "cuKernelGetName");
  }
  return fmt::format("{}x{}x{} of {} {:.100}", kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ,
                     kernel.blockDimX, name);
}

std::string describe_node(cudaGraphNode_t node) {
  cudaGraphNodeType type{};
  check(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
  if (type == cudaGraphNodeTypeKernel) return describe_kernel(node);
  if (type != cudaGraphNodeTypeMemset) return fmt::format("node type {}", static_cast<int>(type));
  cudaMemsetParams set{};
  check(cudaGraphMemsetNodeGetParams(node, &set), "cudaGraphMemsetNodeGetParams");
  return fmt::format("memset of {} bytes",
                     set.width * set.elementSize * std::max<std::size_t>(set.height, 1));
}

bool follows(const std::set<cudaGraphNode_t>& done, cudaGraphNode_t node) {
  std::size_t count = 0;
  check(cudaGraphNodeGetDependencies(node, nullptr, nullptr, &count), "dependencies");
  std::vector<cudaGraphNode_t> needed(count);
  std::vector<cudaGraphEdgeData> edges(count);
  check(cudaGraphNodeGetDependencies(node, needed.data(), edges.data(), &count), "dependencies");
  return std::ranges::all_of(needed, [&](cudaGraphNode_t each) { return done.contains(each); });
}

/// The nodes of a graph, each after those that it depends on.
std::vector<cudaGraphNode_t> ordered_nodes(cudaGraph_t graph) {
  std::size_t count = 0;
  check(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes");
  std::vector<cudaGraphNode_t> waiting(count);
  check(cudaGraphGetNodes(graph, waiting.data(), &count), "cudaGraphGetNodes");
  std::vector<cudaGraphNode_t> order;
  std::set<cudaGraphNode_t> done;
  while (!waiting.empty()) {
    const auto next =
        std::ranges::find_if(waiting, [&](cudaGraphNode_t node) { return follows(done, node); });
    done.insert(*next);
    order.push_back(*next);
    waiting.erase(next);
  }
  return order;
}

double median_microseconds(cudaGraph_t graph, cudaStream_t stream) {
  cudaGraphExec_t made = nullptr;
  check(cudaGraphInstantiate(&made, graph, 0), "cudaGraphInstantiate");
  const GraphExec executable(made);
  const exec::cuda::Event begin = exec::cuda::make_timer();
  const exec::cuda::Event end = exec::cuda::make_timer();
  std::vector<double> samples;
  for (int sample = 0; sample <= kSamples; ++sample) {
    check(cudaEventRecord(begin.get(), stream), "cudaEventRecord");
    for (int i = 0; i < kReplays; ++i)
      check(cudaGraphLaunch(executable.get(), stream), "cudaGraphLaunch");
    check(cudaEventRecord(end.get(), stream), "cudaEventRecord");
    check(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
    if (sample > 0) samples.push_back(1000.0 * static_cast<double>(milliseconds) / kReplays);
  }
  std::ranges::nth_element(samples, samples.begin() + kSamples / 2);
  return samples[kSamples / 2];
}

/// The time of the first `count` nodes of `order` alone.
double prefix_microseconds(cudaGraph_t graph, const std::vector<cudaGraphNode_t>& order,
                           std::size_t count, cudaStream_t stream) {
  cudaGraph_t made = nullptr;
  check(cudaGraphClone(&made, graph), "cudaGraphClone");
  const Graph clone(made);
  for (std::size_t i = order.size(); i > count; --i) {
    cudaGraphNode_t node = nullptr;
    check(cudaGraphNodeFindInClone(&node, order[i - 1], clone.get()), "cudaGraphNodeFindInClone");
    check(cudaGraphDestroyNode(node), "cudaGraphDestroyNode");
  }
  return median_microseconds(clone.get(), stream);
}

}  // namespace

GraphTime time_graph(const std::function<void(cudaStream_t)>& enqueue) {
  const exec::cuda::Stream stream = exec::cuda::make_stream();
  check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeRelaxed),
        "cudaStreamBeginCapture");
  enqueue(stream.get());
  cudaGraph_t captured = nullptr;
  check(cudaStreamEndCapture(stream.get(), &captured), "cudaStreamEndCapture");
  const Graph graph(captured);
  const std::vector<cudaGraphNode_t> order = ordered_nodes(graph.get());
  GraphTime result;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double upto = prefix_microseconds(graph.get(), order, i + 1, stream.get());
    result.nodes.push_back({describe_node(order[i]), upto - result.microseconds});
    result.microseconds = upto;
  }
  return result;
}

}  // namespace parhelion::bench
