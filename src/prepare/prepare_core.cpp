#include "prepare/prepare_core.h"

#include "base/error.h"
#include "prepare/choose_kernels.h"
#include "prepare/cost.h"
#include "prepare/process_memory.h"
#include "prepare/write_weights.h"

#include <algorithm>
#include <chrono>

namespace parhelion::prepare {
namespace {

/// Times a phase and tells of it.
class Phase {
 public:
  Phase(std::string_view name, const PrepareOptions& options) : name_(name), options_(options) {
    ensure(options.is_wanted(), ErrorKind::invalid, "stopped before {}", name);
  }

  /// Looks at the memory of the process.
  void look() { memory_ = std::max(memory_, own_memory_bytes()); }

  void end(std::string said) {
    look();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin_;
    options_.on_phase(
        {.name = name_, .seconds = time.count(), .memory_bytes = memory_, .said = std::move(said)});
  }

 private:
  std::string_view name_;
  const PrepareOptions& options_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::int64_t memory_ = 0;
};

contract::Contract composed(const model::OpenedModel& opened, const PrepareOptions& options) {
  Phase phase("compose", options);
  contract::Contract contract = compose(opened.model, options.core);
  phase.end(fmt::format("{} ops in extend, {} in edited, {} in copy_pages, {} in embed\n",
                        contract.extend.ops.size(), contract.edited.ops.size(),
                        contract.copy_pages.ops.size(), contract.embed.ops.size()));
  return contract;
}

void plan_memory_of(contract::Contract& contract, const PrepareOptions& options) {
  Phase phase("memory", options);
  contract::plan_instances(contract);
  check_instance_count(contract, options.most_instances);
  contract.target.memory_bytes = device_need(contract).total();
  phase.end(print_catalogue(contract));
}

void choose_kernels_of(contract::Contract& contract, const PrepareOptions& options) {
  Phase phase("kernels", options);
  const std::unique_ptr<exec::Executor> executor = options.executor();
  choose_kernels(contract, *executor, [&] {
    phase.look();
    return options.is_wanted();
  });
  contract.provenance.host = executor->describe();
  phase.end(fmt::format("chosen on {}\n", contract.provenance.host));
}

}  // namespace

contract::Contract plan_core(const model::OpenedModel& opened, const PrepareOptions& options) {
  contract::Contract contract = composed(opened, options);
  plan_memory_of(contract, options);
  if (options.executor) choose_kernels_of(contract, options);
  return contract;
}

void prepare_core(const model::OpenedModel& opened, const PrepareOptions& options,
                  const std::filesystem::path& path) {
  contract::Contract contract = plan_core(opened, options);
  Phase weights("weights", options);
  contract::CoreWriter writer(path, options.file);
  contract.precision = write_weights(opened, contract, options.core.adapter, writer, [&] {
    weights.look();
    return options.is_wanted();
  });
  weights.end(summarize(contract.precision));
  Phase file("file", options);
  writer.finish(contract);
  file.end(fmt::format("{}: {} bytes, {}\n", path.string(), std::filesystem::file_size(path),
                       options.file.keys.empty() ? "not signed" : "signed"));
}

}  // namespace parhelion::prepare
