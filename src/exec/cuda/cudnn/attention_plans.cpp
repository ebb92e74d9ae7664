#include "exec/cuda/cudnn/attention_plans.h"

#include "base/error.h"
#include "base/log.h"
#include "exec/cuda/check.h"

#include <cudnn.h>
#include <utility>

namespace parhelion::exec::cuda {

std::string_view name(AttentionUse use) {
  switch (use) {
    case AttentionUse::forward:
      return "forward";
    case AttentionUse::backward:
      return "backward";
    case AttentionUse::ordered_backward:
      return "ordered_backward";
    case AttentionUse::prefill:
      return "prefill";
    case AttentionUse::folded:
      return "folded";
    case AttentionUse::decode:
      return "decode";
  }
  return "?";
}

std::string describe(const AttentionForm& form) {
  return fmt::format(
      "attention {} slots={} most_tokens={} total_tokens={} heads={}/{} d={} scale={} window={} "
      "pages={}x{} pages_per_row={}{}",
      name(form.use), form.slots, form.most_tokens, form.total_tokens, form.query_heads,
      form.kv_heads, form.d, form.scale, form.window, form.pages, form.page_tokens,
      form.pages_per_row, form.is_dense ? " dense" : "");
}

namespace {

int driver_version() {
  int version = 0;
  check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
  return version;
}

}  // namespace

AttentionPlans::AttentionPlans(cudnnContext* handle, PlanFiles files, std::string_view gpu)
    : handle_(handle),
      files_(std::move(files)),
      library_(
          fmt::format("cudnn {} with driver {} on {}", cudnnGetVersion(), driver_version(), gpu)) {}

const AttentionGraph* AttentionPlans::find(const AttentionForm& form) {
  const std::string key = library_ + ": " + describe(form);
  auto found = graphs_.find(key);
  if (found == graphs_.end()) found = graphs_.emplace(key, make(key, form)).first;
  return found->second.get();
}

std::unique_ptr<AttentionGraph> AttentionPlans::make(const std::string& key,
                                                     const AttentionForm& form) const {
  if (const auto bytes = files_.find(key)) {
    if (auto graph = AttentionGraph::deserialize(handle_, *bytes)) return graph;
    log(LogLevel::warning, "plan cache: cuDNN cannot read the plan kept for {}; it is made anew",
        key);
  }
  auto graph = AttentionGraph::build(handle_, form);
  const std::string bytes = graph == nullptr ? std::string() : graph->serialize();
  if (!bytes.empty()) files_.keep(key, bytes);
  return graph;
}

}  // namespace parhelion::exec::cuda
