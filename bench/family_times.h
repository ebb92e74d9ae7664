#pragma once

#include "base/json.h"
#include "exec/executor.h"

#include <chrono>
#include <map>
#include <string>

namespace parhelion {

/// Such as `matmul.weight_grad`.
inline std::string family_key(const ir::OpNode& node) {
  return std::string(ir::traits(node.op).name) + "." + std::string(ir::name(node.phase));
}

/// Seconds of one run by op family and phase, such as `matmul.weight_grad`.
inline Json::Object seconds_by_family(exec::Plan& plan) {
  std::map<std::string, double> seconds;
  const auto times = plan.profile();
  for (std::size_t i = 0; i < times.size(); ++i) {
    seconds[family_key(plan.instance().ops[i])] += std::chrono::duration<double>(times[i]).count();
  }
  return {seconds.begin(), seconds.end()};
}

}  // namespace parhelion
