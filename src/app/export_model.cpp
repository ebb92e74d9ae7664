#include "app/export_model.h"

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

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

/// From the checkpoint's tensors to the parameters as `kind`, and on to Hugging Face's names.
state::Mapper export_mapper(const model::OpenedModel& opened, ir::Kind kind) {
  state::Parallel converted;
  for (const ir::Buffer& parameter : model::parameters(opened.model))
    converted.parts.push_back(state::Convert{parameter.name, kind});
  const model::Mapping target = model::mapping(opened.model, model::CheckpointFormat::hugging_face);
  return state::Sequential{
      {opened.mapping.mapper, std::move(converted), state::invert(target.mapper)}};
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
  const fs::path path = plain_destination(destination);
  check_export_destination(path);
  model::load_parameters(opened, [](const state::TensorView&) {});  // checks names and shapes
  const TemporaryDirectory unfinished(path.string() + ".partial." + std::to_string(::getpid()));
  state::save(state::source_of(opened.checkpoint), export_mapper(opened, kind),
              opened.mapping.ignored, unfinished.path(), shard_bytes);
  for (train::ModelFile& file : files) {
    if (file.name == "config.json") file.text = with_dtype(file.text, kind);
    write_export_file(unfinished.path() / file.name, file.text);
  }
  std::error_code error;
  fs::rename(unfinished.path(), path, error);
  ensure(!error, ErrorKind::invalid, "{}: cannot make this directory: {}", path.string(),
         error.message());
  sync_directory(path.has_parent_path() ? path.parent_path() : ".");
}

}  // namespace parhelion::app
