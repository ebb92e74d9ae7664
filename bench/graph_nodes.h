#pragma once

#include <cuda_runtime_api.h>
#include <functional>
#include <string>
#include <vector>

namespace parhelion::bench {

/// A node of a captured graph.
struct NodeTime {
  std::string what;         ///< a kernel's name and grid, or the bytes that are set
  double microseconds = 0;  ///< by which the graph takes longer with it than with those before it
};

struct GraphTime {
  double microseconds = 0;
  std::vector<NodeTime> nodes;  ///< each after those that it depends on
};

/// Times replays of what `enqueue` enqueues on its stream, in medians.
///
/// Errors: device.
GraphTime time_graph(const std::function<void(cudaStream_t)>& enqueue);

}  // namespace parhelion::bench
