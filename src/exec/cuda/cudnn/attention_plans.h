#pragma once

#include "exec/cuda/cudnn/attention_graph.h"
#include "exec/cuda/plan_files.h"

#include <map>
#include <memory>
#include <string>

namespace parhelion::exec::cuda {

/// The cuDNN attention graphs of one executor: layers of equal form share one, and the next process
/// finds them in the plan cache.
///
/// Threads: one thread uses an executor.
class AttentionPlans {
 public:
  /// `handle` outlives this. Plans are kept by `gpu` and the versions of cuDNN and
  /// the driver.
  AttentionPlans(cudnnContext* handle, PlanFiles files, std::string_view gpu);

  /// Null if cuDNN has no kernel for `form`. Valid as long as this.
  const AttentionGraph* find(const AttentionForm& form);

  cudnnContext* handle() const { return handle_; }

 private:
  std::unique_ptr<AttentionGraph> make(const std::string& key, const AttentionForm& form) const;

  cudnnContext* handle_;
  PlanFiles files_;
  std::string library_;
  std::map<std::string, std::unique_ptr<AttentionGraph>> graphs_;
};

}  // namespace parhelion::exec::cuda
