#pragma once

#include "base/setting.h"
#include "train/config/number_format.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <tuple>

namespace parhelion::train {

/// What of the forward pass is computed again instead of kept (`ir::RecomputePolicy`).
enum class Recompute : std::uint8_t {
  none,
  selective,  ///< what needs no product of matrices
  layer,      ///< all of a decoder layer but what enters it
  automatic,  ///< as much as `memory_budget` asks for
};
constexpr auto choices(const Recompute*) {
  return std::array{choice("none", Recompute::none), choice("selective", Recompute::selective),
                    choice("layer", Recompute::layer), choice("auto", Recompute::automatic)};
}

/// Table `[model]`: what is trained. A checked job has either `path` or both others, and says what
/// is recomputed; left out of an unchecked one, it is nothing.
struct ModelSettings {
  std::optional<std::filesystem::path> path;
  std::optional<std::filesystem::path> config;
  std::optional<std::filesystem::path> tokenizer;
  NumberFormat dtype = NumberFormat::f32;
  std::optional<Recompute> recompute;
  std::optional<std::string> memory_budget;
  bool operator==(const ModelSettings&) const = default;
};

constexpr auto settings(const ModelSettings*) {
  return std::tuple(
      setting("path", &ModelSettings::path,
              "model to begin from: a Hugging Face directory, a GGUF file, or a checkpoint of "
              "another run. Its tokenizer is used. Either this or `config` is needed"),
      setting("config", &ModelSettings::config,
              "config.json of a model to begin with random weights"),
      setting("tokenizer", &ModelSettings::tokenizer,
              "with `config`: directory with tokenizer.json, or a GGUF file, whose tokenizer is "
              "used"),
      setting("dtype", &ModelSettings::dtype,
              "what weights and activations are stored as; gradients are f32. Weights in bf16 are "
              "updated with stochastic rounding"),
      setting(
          "recompute", &ModelSettings::recompute,
          "what the gradient computes again instead of keeping it, for less memory and the "
          "same bits: `selective` norms, SwiGLU and the like, at hardly more work; `layer` all "
          "of a layer but what enters it, at about a third more; `auto` as much as "
          "`memory_budget` asks for. Left out, it is `none`, or `auto` where a budget is given"),
      setting("memory_budget", &ModelSettings::memory_budget,
              "most memory that parameters, gradients, optimizer and activations may take in all, "
              "such as `8GiB` or `512MiB`: the total of `--dry-run`"));
}

/// Table `[lora]`: W x becomes W x + (alpha / rank) B A dropout(x), and only A and B are trained.
///
/// Source: Hu et al. 2021, arXiv:2106.09685.
struct LoraSettings {
  std::int64_t rank = 8;
  double alpha = 16.0;
  double dropout = 0.0;
  std::string targets = R"(.*\.(q|k|v|o|gate|up|down)_proj)";
  bool operator==(const LoraSettings&) const = default;
};

constexpr auto settings(const LoraSettings*) {
  return std::tuple(
      setting("rank", &LoraSettings::rank, "columns of B and rows of A, at least 1"),
      setting("alpha", &LoraSettings::alpha,
              "the adapter's result is scaled by alpha / rank; above 0"),
      setting("dropout", &LoraSettings::dropout,
              "share of the adapter's inputs set to 0 in training, in [0, 1)"),
      setting("targets", &LoraSettings::targets,
              "regular expression which a module's whole path has to match, such as "
              "`model.layers.0.self_attn.q_proj`; the default takes all projections of attention "
              "and MLP"));
}

}  // namespace parhelion::train
