#include "exec/cuda/graph_switch.h"

#include "base/error.h"
#include "exec/cuda/check.h"

#include <vector>

namespace parhelion::exec::cuda {
namespace {

/// A graph being captured, and the nodes on which the next one depends.
struct CapturedGraph {
  cudaGraph_t graph = nullptr;
  std::vector<cudaGraphNode_t> last;
  std::vector<cudaGraphEdgeData> edges;
};

CapturedGraph captured_graph(cudaStream_t stream) {
  cudaStreamCaptureStatus status{};
  CapturedGraph result;
  const cudaGraphNode_t* nodes = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  check(cudaStreamGetCaptureInfo(stream, &status, nullptr, &result.graph, &nodes, &edges, &count),
        "cudaStreamGetCaptureInfo");
  ensure(status == cudaStreamCaptureStatusActive, ErrorKind::bug,
         "cuda: a kernel that chooses on the device was launched outside a graph");
  result.last.assign(nodes, nodes + count);
  result.edges.resize(count);
  if (edges != nullptr) result.edges.assign(edges, edges + count);
  return result;
}

void capture_body(cudaGraph_t graph, cudaStream_t stream, const SwitchBody& body) {
  check(cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0,
                                      cudaStreamCaptureModeRelaxed),
        "cudaStreamBeginCaptureToGraph");
  cudaGraph_t captured = nullptr;  // `graph`, which its node owns
  try {
    body(stream);
  } catch (...) {
    cudaStreamEndCapture(stream, &captured);
    throw;
  }
  check(cudaStreamEndCapture(stream, &captured), "cudaStreamEndCapture");
}

}  // namespace

std::int64_t captured_nodes(cudaStream_t stream) {
  std::size_t count = 0;
  check(cudaGraphGetNodes(captured_graph(stream).graph, nullptr, &count), "cudaGraphGetNodes");
  return static_cast<std::int64_t>(count);
}

cudaGraphConditionalHandle make_condition(cudaStream_t stream) {
  cudaGraphConditionalHandle condition = 0;
  check(cudaGraphConditionalHandleCreate(&condition, captured_graph(stream).graph, 0, 0),
        "cudaGraphConditionalHandleCreate");
  return condition;
}

void capture_switch(cudaStream_t stream, cudaStream_t body_stream,
                    cudaGraphConditionalHandle condition, std::span<const SwitchBody> bodies) {
  const CapturedGraph parent = captured_graph(stream);
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = condition;
  params.conditional.type = cudaGraphCondTypeSwitch;
  params.conditional.size = static_cast<unsigned>(bodies.size());
  cudaGraphNode_t node = nullptr;
  check(cudaGraphAddNode(&node, parent.graph, parent.last.data(), parent.edges.data(),
                         parent.last.size(), &params),
        "cudaGraphAddNode");
  check(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1,
                                            cudaStreamSetCaptureDependencies),
        "cudaStreamUpdateCaptureDependencies");
  for (std::size_t i = 0; i < bodies.size(); ++i)
    capture_body(params.conditional.phGraph_out[i], body_stream, bodies[i]);
}

}  // namespace parhelion::exec::cuda
