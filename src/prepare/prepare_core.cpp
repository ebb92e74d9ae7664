#include "prepare/prepare_core.h"

#include "base/error.h"
#include "base/hash.h"
#include "prepare/choose_kernels.h"
#include "prepare/cost.h"
#include "prepare/process_memory.h"
#include "prepare/weight_store.h"
#include "prepare/write_weights.h"

#include <algorithm>
#include <chrono>
#include <optional>

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

/// Names all that converted weights are made from. Empty if it is not known.
std::string key_of_weights(const contract::Contract& contract, const PrepareOptions& options) {
  const contract::Provenance& provenance = options.core.provenance;
  if (provenance.files.empty()) return "";
  std::string text = fmt::format("{}\n{}\n", provenance.tool,
                                 options.core.adapter == AdapterUse::merge ? "merge" : "keep");
  for (const contract::SourceFile& file : provenance.files)
    text += fmt::format("{} {}\n", file.name, file.digest);
  for (const ir::Buffer& buffer : contract.extend.buffers)
    if (buffer.role == ir::Role::parameter)
      text += fmt::format("{} {}\n", buffer.name, ir::to_string(buffer.type));
  return hex(hash128(std::as_bytes(std::span(text))));
}

/// The weights of a core on their way, and the directory where they wait.
class KeptWeights {
 public:
  KeptWeights(const std::filesystem::path& core, const std::string& key,
              const PrepareOptions& options)
      : options_(options), directory_(core.string() + ".work"), has_name_(!key.empty()) {
    const Tell tell = [this](std::string_view text) { said_ += fmt::format("{}\n", text); };
    directory_.drop_others(key, tell);
    store_.emplace(directory_.path(), key.empty() ? "unnamed" : key, tell);
    if (store_->taken_count() > 0)
      tell(fmt::format("{} weights taken from {}", store_->taken_count(),
                       directory_.path().string()));
  }
  ~KeptWeights() {
    store_.reset();
    const bool goes_on = has_name_ && !is_core_whole_ && !options_.is_wanted();
    if (!goes_on && !options_.keeps_work) directory_.remove();
  }
  KeptWeights(const KeptWeights&) = delete;
  KeptWeights& operator=(const KeptWeights&) = delete;

  WeightStore& store() { return *store_; }
  void core_is_whole() { is_core_whole_ = true; }
  const std::string& said() const { return said_; }

 private:
  const PrepareOptions& options_;
  WorkDirectory directory_;
  bool has_name_;  // or nobody can tell what the weights were made from
  bool is_core_whole_ = false;
  std::string said_;
  std::optional<WeightStore> store_;
};

void convert_weights(const model::OpenedModel& opened, const PrepareOptions& options,
                     KeptWeights& kept, contract::Contract& contract) {
  Phase phase("weights", options);
  contract.precision = write_weights(opened, contract, options.core.adapter, kept.store(), [&] {
    phase.look();
    return options.is_wanted();
  });
  phase.end(kept.said() + summarize(contract.precision));
}

void run_golden(std::span<const contract::WeightView> weights, const PrepareOptions& options,
                contract::Contract& contract) {
  Phase phase("golden", options);
  contract.golden = options.golden(contract, weights);
  phase.end(fmt::format("{} probes run\n", contract.golden.probes.size()));
}

void write_file(std::span<const contract::WeightView> weights, const contract::Contract& contract,
                const PrepareOptions& options, const std::filesystem::path& path) {
  Phase phase("file", options);
  contract::CoreWriter writer(path, options.file);
  for (const contract::WeightView& weight : weights) {
    ensure(options.is_wanted(), ErrorKind::invalid, "stopped while the file was written");
    writer.weight(weight.name, weight.type);
    writer.append(weight.bytes);
  }
  writer.finish(contract);
  phase.end(fmt::format("{}: {} bytes, {}\n", path.string(), std::filesystem::file_size(path),
                        options.file.keys.empty() ? "not signed" : "signed"));
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
  KeptWeights kept(path, key_of_weights(contract, options), options);
  convert_weights(opened, options, kept, contract);
  const std::vector<contract::WeightView> weights = kept.store().views(contract.extend);
  if (options.golden) run_golden(weights, options, contract);
  write_file(weights, contract, options, path);
  kept.core_is_whole();
}

}  // namespace parhelion::prepare
