#include "model/adapters/open_adapter.h"

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "model/programs.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

namespace parhelion::model {
namespace {

namespace fs = std::filesystem;

AdapterConfig open_adapter_config(const fs::path& directory) {
  const fs::path path = directory / kAdapterConfigName;
  return read_adapter_config(parse_json(read_file(path), path.string()), path.string());
}

/// The tensor names of one adapter of a module, in both layouts.
struct AdapterNames {
  std::string a;
  std::string b;
};
AdapterNames stored_names(std::string_view module, bool is_own) {
  if (is_own) return {lora_a_name(module), lora_b_name(module)};
  return {peft_lora_a_name(module), peft_lora_b_name(module)};
}

/// Of the projections, those of which the file has a tensor.
std::function<bool(std::string_view)> has_tensor_in(const state::Checkpoint& checkpoint,
                                                    bool is_own) {
  return [&checkpoint, is_own](std::string_view module) {
    const AdapterNames names = stored_names(module, is_own);
    return checkpoint.find(names.a) != nullptr || checkpoint.find(names.b) != nullptr;
  };
}

std::function<bool(std::string_view)> named_by(const std::vector<std::string>& targets) {
  return [&targets](std::string_view module) { return is_adapter_target(targets, module); };
}

state::Mapper adapter_mapper(const Lora& lora, bool is_own) {
  state::Parallel parts;
  for (const std::string& module : lora.modules) {
    const AdapterNames names = stored_names(module, is_own);
    parts.parts.push_back(state::Rename{names.a, lora_a_name(module)});
    parts.parts.push_back(state::Rename{names.b, lora_b_name(module)});
  }
  return parts;
}

void check_base(const AdapterConfig& config, const OpenedModel& base, const fs::path& directory) {
  if (config.base_digest.empty()) return;
  const std::string digest = weights_digest(base.checkpoint);
  ensure(digest == config.base_digest, ErrorKind::invalid,
         "{}: was trained on other weights than those of {}: their digest is {}, expected {}",
         directory.string(), base.checkpoint.where(), digest, config.base_digest);
}

}  // namespace

bool is_adapter(const fs::path& directory) { return fs::exists(directory / kAdapterConfigName); }

std::string weights_digest(const state::Checkpoint& checkpoint) {
  std::set<std::string> lines;
  for (const state::TensorView& tensor : checkpoint.tensors()) {
    lines.insert(fmt::format("{} {} {} {}\n", tensor.name, ir::name(tensor.kind),
                             state::shape_text(tensor.shape), hex(hash128(tensor.bytes))));
  }
  std::string text;
  for (const std::string& line : lines) text += line;
  return hex(hash128(std::as_bytes(std::span(text))));
}

OpenedModel with_adapter(OpenedModel base, const fs::path& directory) {
  ensure(!base.model.lora, ErrorKind::invalid,
         "{}: has an adapter already, so {} cannot be another", base.checkpoint.where(),
         directory.string());
  const AdapterConfig config = open_adapter_config(directory);
  check_base(config, base, directory);
  const bool is_own = holds_own_parameters(directory);
  state::Checkpoint checkpoint =
      state::open_checkpoint(directory, is_own ? kParametersStem : kAdapterStem);
  base.model = with_lora(
      base.model, config.lora,
      config.targets.empty() ? has_tensor_in(checkpoint, is_own) : named_by(config.targets));
  state::Mapper mapper = adapter_mapper(*base.model.lora, is_own);
  base.adapter = OpenedAdapter{
      .checkpoint = std::move(checkpoint), .mapper = std::move(mapper), .base = config.base};
  load_adapter(base, [](const state::TensorView&) {});  // checks names and shapes
  return base;
}

fs::path adapter_base(const fs::path& directory) {
  fs::path base = open_adapter_config(directory).base;
  ensure(!base.empty() && fs::exists(base), ErrorKind::invalid,
         "{}: its base model '{}' is not there; open the base with this directory as its adapter",
         directory.string(), base.string());
  ensure(!fs::is_directory(base) || !is_adapter(base), ErrorKind::invalid,
         "{}: its base '{}' is an adapter itself, expected a whole model", directory.string(),
         base.string());
  return base;
}

}  // namespace parhelion::model
