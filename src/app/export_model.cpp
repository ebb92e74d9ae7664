#include "app/export_model.h"

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "model/adapters/merge.h"
#include "model/adapters/open_adapter.h"
#include "model/programs.h"

#include <functional>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace parhelion::app {
namespace {

namespace fs = std::filesystem;

/// The destination without a slash at its end, which would hide its name.
fs::path plain_destination(const fs::path& destination) {
  const fs::path path = destination.lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

void check_export_destination(const fs::path& destination) {
  const bool is_free =
      !fs::exists(destination) || (fs::is_directory(destination) && fs::is_empty(destination));
  ensure(is_free, ErrorKind::invalid, "{}: is there already, expected a new or empty directory",
         destination.string());
}

/// Makes the directory that `write` fills, once it is full.
void make_directory(const fs::path& destination,
                    const std::function<void(const fs::path&)>& write) {
  const fs::path path = plain_destination(destination);
  check_export_destination(path);
  const TemporaryDirectory unfinished(path.string() + ".partial." + std::to_string(::getpid()));
  write(unfinished.path());
  std::error_code error;
  fs::rename(unfinished.path(), path, error);
  ensure(!error, ErrorKind::invalid, "{}: cannot make this directory: {}", path.string(),
         error.message());
  sync_directory(path.has_parent_path() ? path.parent_path() : ".");
}

/// From the parameters to the names of Hugging Face, as `kind`.
state::Mapper export_mapper(const model::Model& model, ir::Kind kind) {
  state::Parallel converted;
  for (const ir::Buffer& parameter : model::parameters(model::base_of(model)))
    converted.parts.push_back(state::Convert{parameter.name, kind});
  const model::Mapping target = model::mapping(model, model::CheckpointFormat::hugging_face);
  return state::Sequential{{std::move(converted), state::invert(target.mapper)}};
}

/// From an adapter's parameters to the names of PEFT, as `kind`.
state::Mapper peft_mapper(const model::Lora& lora, ir::Kind kind) {
  state::Parallel converted, renamed;
  const auto add = [&](const std::string& from, const std::string& to) {
    converted.parts.push_back(state::Convert{from, kind});
    renamed.parts.push_back(state::Rename{from, to});
  };
  for (const std::string& module : lora.modules) {
    add(model::lora_a_name(module), model::peft_lora_a_name(module));
    add(model::lora_b_name(module), model::peft_lora_b_name(module));
  }
  return state::Sequential{{std::move(converted), std::move(renamed)}};
}

/// The config with the element type of the weights beside it, from which readers take theirs.
std::string with_dtype(const std::string& config_text, ir::Kind kind) {
  const std::string dtype = kind == ir::Kind::f32 ? "float32" : "bfloat16";
  Json::Object members = parse_json(config_text, "config.json").as_object("config.json");
  bool is_said = false;
  for (auto& [key, value] : members) {
    if (key != "dtype" && key != "torch_dtype") continue;
    value = dtype;
    is_said = true;
  }
  if (!is_said) members.emplace_back("torch_dtype", dtype);
  return write_json(members);
}

void write_export_file(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace

void export_hugging_face(const model::OpenedModel& opened, std::vector<train::ModelFile> files,
                         ir::Kind kind, const fs::path& destination, std::int64_t shard_bytes) {
  make_directory(destination, [&](const fs::path& path) {
    model::load_parameters(opened, [](const state::TensorView&) {});  // checks names and shapes
    state::save(model::merged_parameters(opened), export_mapper(opened.model, kind), {}, path,
                shard_bytes);
    for (train::ModelFile& file : files) {
      if (file.name == "config.json") file.text = with_dtype(file.text, kind);
      write_export_file(path / file.name, file.text);
    }
  });
}

void export_adapter(const model::OpenedModel& opened, ir::Kind kind, const fs::path& destination) {
  ensure(opened.adapter.has_value(), ErrorKind::invalid,
         "{}: has no adapter that could be exported alone", opened.checkpoint.where());
  make_directory(destination, [&](const fs::path& path) {
    const state::TensorSource source = model::adapter_parameters(opened);
    state::SafetensorsWriter writer(path, state::kDefaultShardBytes, model::kAdapterStem);
    state::load(source, peft_mapper(*opened.model.lora, kind), {},
                [&](state::TensorView tensor) { writer.add(std::move(tensor)); });
    writer.finish();
    const model::AdapterConfig config{.lora = *opened.model.lora, .base = opened.adapter->base};
    write_export_file(path / model::kAdapterConfigName,
                      model::adapter_config_text(config, model::projections(opened.model)));
  });
}

}  // namespace parhelion::app
