#include "model/adapters/lora.h"

#include "base/error.h"
#include "ir/builder.h"
#include "ir/passes/relink.h"

#include <algorithm>
#include <map>
#include <utility>

namespace parhelion::model {
namespace {

constexpr std::string_view kWeightSuffix = ".weight";

/// The path of the module whose product with a weight the op is; empty if it is none.
std::string_view projection_path(const ir::Program& program, const ir::OpNode& node) {
  const auto* product = std::get_if<ir::MatMul>(&node.op);
  if (product == nullptr || product->transpose_a || !product->transpose_b) return {};
  const ir::BufferId buffer = program.at(node.inputs[1].value).buffer;
  if (!buffer || program.at(buffer).role != ir::Role::parameter) return {};
  std::string_view name = program.at(buffer).name;
  if (!name.ends_with(kWeightSuffix)) return {};
  name.remove_suffix(kWeightSuffix.size());
  return name;
}

/// Writes a program's ops anew, with those of the adapters among them.
class LoraPass {
 public:
  LoraPass(ir::Program& program, const Lora& lora, Dropout dropout)
      : program_(program),
        lora_(lora),
        draws_(dropout == Dropout::on && lora.dropout > 0),
        builder_(program) {
    for (std::size_t i = 0; i < lora.modules.size(); ++i)
      tags_[lora.modules[i]] = static_cast<std::int64_t>(i);
  }

  void run() {
    for (ir::Buffer& buffer : program_.buffers)
      buffer.trainable = buffer.role != ir::Role::parameter;
    std::vector<ir::OpNode> old_ops;
    std::swap(old_ops, program_.ops);
    for (ir::OpNode& node : old_ops) {
      const std::string path(projection_path(program_, node));
      if (tags_.contains(path)) {
        adapt(std::move(node), path);
      } else {
        program_.ops.push_back(std::move(node));
      }
    }
    ir::relink(program_);
    for (const std::string& module : lora_.modules) {
      ensure(ir::find_buffer(program_, lora_a_name(module)).index != 0, ErrorKind::invalid,
             "lora: the model has no projection '{}'", module);
    }
  }

 private:
  void adapt(ir::OpNode node, const std::string& path) {
    const ir::MatMul product = std::get<ir::MatMul>(node.op);
    ensure(!product.bias, ErrorKind::invalid,
           "lora: module '{}' has a bias, expected a projection without one", path);
    const ir::ValueId x = node.inputs[0].value;
    const ir::ValueId y = node.outputs[0];
    const ir::Shape weight = program_.at(node.inputs[1].value).type.shape;
    program_.values.push_back({.type = program_.at(y).type});
    const ir::ValueId base{static_cast<std::uint32_t>(program_.values.size())};
    node.outputs[0] = base;
    ir::OpNode sum{.op = ir::Binary{ir::BinaryFunction::add},
                   .outputs = {y},
                   .layer = node.layer,
                   .label = node.label};
    builder_.set_layer(node.layer);
    program_.ops.push_back(std::move(node));
    sum.inputs = {{.value = base}, {.value = adapter(path, x, weight, product.out)}};
    program_.ops.push_back(std::move(sum));
  }

  ir::ValueId adapter(const std::string& path, ir::ValueId x, const ir::Shape& weight,
                      ir::Kind kind) {
    const ir::MatMul product{.transpose_b = true, .out = kind};
    builder_.set_label(path + ".lora_a");
    if (draws_) {
      const ir::ValueId seed = builder_.input("dropout_seed", {ir::Kind::u64, {}});
      x = builder_.one(ir::Dropout{.probability = lora_.dropout, .tag = tags_.at(path)}, {x, seed});
    }
    const ir::ValueId a = builder_.parameter(lora_a_name(path), {kind, {lora_.rank, weight[1]}});
    const ir::ValueId b = builder_.parameter(lora_b_name(path), {kind, {weight[0], lora_.rank}});
    const ir::ValueId narrow = builder_.one(product, {x, a});
    builder_.set_label(path + ".lora_b");
    return builder_.one(product, {builder_.one(ir::Scale{lora_.scale()}, {narrow}), b});
  }

  ir::Program& program_;
  const Lora& lora_;
  bool draws_;
  ir::Builder builder_;
  std::map<std::string, std::int64_t, std::less<>> tags_;  // by module
};

}  // namespace

std::string lora_a_name(std::string_view module) { return fmt::format("{}.lora_a.weight", module); }
std::string lora_b_name(std::string_view module) { return fmt::format("{}.lora_b.weight", module); }
std::string adapted_weight_name(std::string_view module) {
  return fmt::format("{}{}", module, kWeightSuffix);
}

std::vector<std::string> projections(const ir::Program& program) {
  std::vector<std::string> result;
  for (const ir::OpNode& node : program.ops) {
    const std::string path(projection_path(program, node));
    if (!path.empty() && std::ranges::find(result, path) == result.end()) result.push_back(path);
  }
  return result;
}

void apply_lora(ir::Program& program, const Lora& lora, Dropout dropout) {
  LoraPass(program, lora, dropout).run();
}

}  // namespace parhelion::model
