#pragma once

#include "model/open.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parhelion::model {

/// The checkpoints that tests/golden/model_parity.py makes: random ones, then a trained one too.
inline constexpr std::array<std::string_view, 6> kRandomModels = {
    "llama_scaled", "llama_biased", "llama_tied", "qwen3_grouped", "qwen3_tied", "qwen3_biased"};
inline constexpr std::array<std::string_view, 7> kGoldenModels = {
    "llama_scaled", "llama_biased", "llama_tied", "qwen3_grouped",
    "qwen3_tied",   "qwen3_biased", "llama_tiny"};

inline std::filesystem::path golden_path(std::string_view name) {
  return std::filesystem::path(PARHELION_TEST_DATA) / "model" / name;
}

/// An f32 tensor that counts up from `first`.
inline state::TensorView counting_tensor(std::string name, state::Shape shape, float first) {
  const std::int64_t count = *state::element_count(shape);
  const auto bytes_of_tensor = static_cast<std::size_t>(count) * sizeof(float);
  std::shared_ptr<std::byte[]> storage(new std::byte[bytes_of_tensor]);
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = first + static_cast<float>(i);
    std::memcpy(storage.get() + static_cast<std::size_t>(i) * sizeof value, &value, sizeof value);
  }
  return {
      std::move(name), ir::Kind::f32, std::move(shape), {storage.get(), bytes_of_tensor}, storage};
}

inline std::vector<float> values_of(const state::TensorView& tensor) {
  std::vector<float> result(static_cast<std::size_t>(*state::element_count(tensor.shape)));
  std::memcpy(result.data(), tensor.bytes.data(), tensor.bytes.size());
  return result;
}

/// A tensor for each parameter, under the names and in the row order of `format`.
inline std::vector<state::TensorView> tensors_for(const Model& model, CheckpointFormat format) {
  std::map<std::string, state::Shape> shapes;
  state::TensorSource source{"test", {}, {}};
  for (const ir::Buffer& parameter : parameters(model)) {
    for (const ir::Dim& dim : parameter.type.shape)
      shapes[parameter.name].push_back(ir::number(dim));
    source.names.push_back(parameter.name);
  }
  source.read = [&shapes](const std::string& name) {
    return counting_tensor(name, shapes.at(name), static_cast<float>(name.size()));
  };
  std::vector<state::TensorView> result;
  state::load(source, state::invert(mapping(model, format).mapper), {},
              [&result](state::TensorView tensor) { result.push_back(std::move(tensor)); });
  return result;
}

/// The model with a checkpoint of these tensors.
inline OpenedModel opened_with(const Model& model, CheckpointFormat format,
                               std::vector<state::TensorView> tensors) {
  return {model, state::Checkpoint("test", {}, std::move(tensors)), mapping(model, format)};
}

inline std::map<std::string, state::TensorView> loaded(const OpenedModel& opened) {
  std::map<std::string, state::TensorView> result;
  load_parameters(opened, [&result](state::TensorView tensor) {
    std::string name = tensor.name;
    result.emplace(std::move(name), std::move(tensor));
  });
  return result;
}

}  // namespace parhelion::model
