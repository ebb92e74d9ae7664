#include "model/open.h"

#include "base/error.h"
#include "base/file.h"
#include "model/adapters/open_adapter.h"
#include "model/recipes/decoder_config.h"
#include "model/recipes/registry.h"

#include <algorithm>
#include <map>
#include <utility>

namespace parhelion::model {
namespace {

Json read_json_file(const std::filesystem::path& path) {
  return parse_json(read_file(path), path.string());
}

Model model_from_directory(const std::filesystem::path& directory) {
  const Json config = read_json_file(directory / "config.json");
  Model model = find_recipe(config).from_config(config);
  const std::filesystem::path generation = directory / "generation_config.json";
  if (std::filesystem::exists(generation))
    apply_generation_config(read_json_file(generation), model);
  return model;
}

state::Shape host_shape(const ir::TensorType& type) {
  state::Shape result;
  for (const ir::Dim& dim : type.shape) result.push_back(ir::number(dim));
  return result;
}

/// Refuses tensors that have another shape than the model's parameter before `sink` sees them.
state::TensorSink checked_sink(const OpenedModel& opened, const state::Checkpoint& checkpoint,
                               const state::TensorSink& sink) {
  std::map<std::string, state::Shape, std::less<>> shapes;
  for (const ir::Buffer& parameter : parameters(opened.model))
    shapes[parameter.name] = host_shape(parameter.type);
  return [&checkpoint, &sink, shapes = std::move(shapes)](state::TensorView tensor) {
    const state::Shape& expected = shapes.at(tensor.name);
    ensure(tensor.shape == expected, ErrorKind::invalid,
           "{}: tensor '{}' has shape {}, expected {}", checkpoint.where(), tensor.name,
           state::shape_text(tensor.shape), state::shape_text(expected));
    sink(std::move(tensor));
  };
}

CheckpointFormat format_of(const state::Checkpoint& checkpoint) {
  const auto is_table = [](const state::TensorView& tensor) {
    return tensor.name == "embed_tokens.weight";
  };
  return std::ranges::any_of(checkpoint.tensors(), is_table) ? CheckpointFormat::hugging_face_body
                                                             : CheckpointFormat::hugging_face;
}

}  // namespace

bool holds_own_parameters(const std::filesystem::path& directory) {
  return std::filesystem::exists(directory / state::safetensors_index_name(kParametersStem)) ||
         std::filesystem::exists(directory / state::safetensors_single_name(kParametersStem));
}

OpenedModel open_model(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) {
    const bool is_own = holds_own_parameters(path);
    if (is_adapter(path)) {
      ensure(
          is_own, ErrorKind::invalid,
          "{}: is an adapter, expected a model; open its base with this directory as its adapter",
          path.string());
      return with_adapter(open_model(adapter_base(path)), path);
    }
    Model model = model_from_directory(path);
    state::Checkpoint checkpoint =
        state::open_checkpoint(path, is_own ? kParametersStem : state::kModelStem);
    Mapping names = mapping(model, is_own ? CheckpointFormat::parhelion : format_of(checkpoint));
    return {std::move(model), std::move(checkpoint), std::move(names)};
  }
  state::Checkpoint checkpoint = state::open_checkpoint(path);
  ensure(checkpoint.metadata() != nullptr, ErrorKind::invalid,
         "{}: expected a GGUF file or a directory with config.json", path.string());
  Model model = find_recipe(*checkpoint.metadata()).from_gguf(checkpoint);
  Mapping names = mapping(model, CheckpointFormat::gguf);
  return {std::move(model), std::move(checkpoint), std::move(names)};
}

void load_parameters(const OpenedModel& opened, const state::TensorSink& sink) {
  state::load(state::source_of(opened.checkpoint), opened.mapping.mapper, opened.mapping.ignored,
              checked_sink(opened, opened.checkpoint, sink));
  load_adapter(opened, sink);
}

void load_adapter(const OpenedModel& opened, const state::TensorSink& sink) {
  if (!opened.adapter) return;
  state::load(state::source_of(opened.adapter->checkpoint), opened.adapter->mapper, {},
              checked_sink(opened, opened.adapter->checkpoint, sink));
}

}  // namespace parhelion::model
