#pragma once

#include "base/json.h"
#include "exec/executor.h"

#include <chrono>
#include <map>
#include <string>

namespace parhelion {

/// Seconds of one run by op family and phase, such as `matmul.weight_grad`.
inline Json::Object seconds_by_family(exec::Plan& plan) {
  std::map<std::string, double> seconds;
  const auto times = plan.profile();
  for (std::size_t i = 0; i < times.size(); ++i) {
    const ir::OpNode& node = plan.instance().ops[i];
    const std::string family(ir::traits(node.op).name);
    seconds[family + "." + std::string(ir::name(node.phase))] +=
        std::chrono::duration<double>(times[i]).count();
  }
  return {seconds.begin(), seconds.end()};
}

}  // namespace parhelion
