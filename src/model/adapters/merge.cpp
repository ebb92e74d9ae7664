#include "model/adapters/merge.h"

#include "state/convert.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace parhelion::model {
namespace {

std::vector<float> wide_values(const state::TensorView& tensor) {
  std::vector<float> result(static_cast<std::size_t>(*state::element_count(tensor.shape)));
  state::convert(tensor.kind, tensor.bytes, ir::Kind::f32,
                 std::as_writable_bytes(std::span(result)));
  return result;
}

/// row += factor other
void add_row(float factor, std::span<const float> other, std::span<float> row) {
  for (std::size_t i = 0; i < row.size(); ++i) row[i] += factor * other[i];
}

/// W + scale B A, sums in the order of A's rows.
void add_product(std::span<const float> a, std::span<const float> b, float scale, std::size_t rank,
                 std::span<float> w) {
  const std::size_t inputs = a.size() / rank;
  std::vector<float> product(inputs);
  for (std::size_t row = 0; row < b.size() / rank; ++row) {
    std::ranges::fill(product, 0.0f);
    for (std::size_t r = 0; r < rank; ++r)
      add_row(b[row * rank + r], a.subspan(r * inputs, inputs), product);
    add_row(scale, product, w.subspan(row * inputs, inputs));
  }
}

/// Reads parameters one by one, through the groups of the model's mapping.
class MergedReader {
 public:
  explicit MergedReader(const OpenedModel& opened)
      : opened_(opened),
        adapter_(adapter_parameters(opened)),
        groups_(state::groups(opened.mapping.mapper)) {
    for (std::size_t i = 0; i < groups_.size(); ++i)
      for (const state::Port& port : groups_[i].outputs) group_of_[port.name] = i;
    if (!opened.model.lora) return;
    for (const std::string& module : opened.model.lora->modules)
      module_of_[adapted_weight_name(module)] = module;
  }

  /// Parameters in the order of the first tensor that each needs.
  std::vector<std::string> names() const {
    std::map<std::string_view, const state::Group*> reader;  // by tensor
    for (const state::Group& group : groups_) reader[group.inputs.front().name] = &group;
    std::vector<std::string> result;
    for (const state::TensorView& tensor : opened_.checkpoint.tensors()) {
      const auto group = reader.find(tensor.name);
      if (group == reader.end()) continue;
      for (const state::Port& port : group->second->outputs) result.push_back(port.name);
    }
    return result;
  }

  state::TensorView read(const std::string& name) const {
    state::TensorView tensor = stored(name);
    const auto module = module_of_.find(name);
    return module == module_of_.end() ? tensor : merged(std::move(tensor), module->second);
  }

 private:
  state::TensorView stored(const std::string& name) const {
    const state::Group& group = groups_[group_of_.at(name)];
    std::vector<state::TensorView> inputs;
    for (const state::Port& port : group.inputs) inputs.push_back(opened_.checkpoint.at(port.name));
    for (state::TensorView& output : state::apply_group(group, std::move(inputs)))
      if (output.name == name) return std::move(output);
    return {};
  }

  state::TensorView merged(state::TensorView base, const std::string& module) const {
    const Lora& lora = *opened_.model.lora;
    const auto values = std::make_shared<std::vector<float>>(wide_values(base));
    add_product(wide_values(adapter_.read(lora_a_name(module))),
                wide_values(adapter_.read(lora_b_name(module))), static_cast<float>(lora.scale()),
                static_cast<std::size_t>(lora.rank), *values);
    const std::span<const std::byte> bytes = std::as_bytes(std::span(*values));
    base.kind = ir::Kind::f32;
    base.bytes = bytes;
    base.storage = std::shared_ptr<const std::byte[]>(values, bytes.data());
    return base;
  }

  const OpenedModel& opened_;
  state::TensorSource adapter_;
  std::vector<state::Group> groups_;
  std::map<std::string, std::size_t, std::less<>> group_of_;   // by parameter
  std::map<std::string, std::string, std::less<>> module_of_;  // by weight
};

}  // namespace

state::TensorSource merged_parameters(const OpenedModel& opened) {
  const auto reader = std::make_shared<const MergedReader>(opened);
  return {.where = opened.checkpoint.where(),
          .names = reader->names(),
          .read = [reader](const std::string& name) { return reader->read(name); }};
}

state::TensorSource adapter_parameters(const OpenedModel& opened) {
  state::TensorSource source{.where = opened.checkpoint.where(), .names = {}, .read = {}};
  const auto tensors = std::make_shared<std::map<std::string, state::TensorView, std::less<>>>();
  load_adapter(opened, [&](state::TensorView tensor) {
    source.names.push_back(tensor.name);
    tensors->emplace(source.names.back(), std::move(tensor));
  });
  source.read = [tensors](const std::string& name) { return tensors->at(name); };
  return source;
}

}  // namespace parhelion::model
