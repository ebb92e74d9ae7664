#include "prepare/write_weights.h"

#include "base/error.h"
#include "model/adapters/merge.h"
#include "prepare/convert_piece.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace parhelion::prepare {
namespace {

/// Where a parameter comes from.
struct Origin {
  std::vector<std::string> tensors = {};  ///< names in the source
  bool is_rearranged = false;             ///< its elements stand in another order there
};
using Origins = std::map<std::string, Origin, std::less<>>;

void add_origins(const state::Mapper& mapper, Origins& origins) {
  for (const state::Group& group : state::groups(mapper)) {
    Origin origin{.is_rearranged = !group.steps.empty()};
    for (const state::Port& port : group.inputs) origin.tensors.push_back(port.name);
    for (const state::Port& port : group.outputs) origins[port.name] = origin;
  }
}

/// Weights that an adapter is added to come from its tensors too.
std::set<std::string, std::less<>> add_merged(const model::OpenedModel& opened, Origins& origins) {
  std::set<std::string, std::less<>> merged;
  for (const std::string& module : opened.model.lora->modules) {
    const std::string weight = model::adapted_weight_name(module);
    for (const std::string& part : {model::lora_a_name(module), model::lora_b_name(module)}) {
      std::vector<std::string>& tensors = origins.at(weight).tensors;
      tensors.insert(tensors.end(), origins.at(part).tensors.begin(),
                     origins.at(part).tensors.end());
    }
    merged.insert(weight);
  }
  return merged;
}

/// The steps from the source's tensor to the core's.
std::string transform_of(const Origin& origin, bool is_merged, ir::Kind from, ir::Kind to) {
  std::string steps;
  const auto add = [&](std::string_view step) {
    if (!steps.empty()) steps += '+';
    steps += step;
  };
  if (origin.is_rearranged) add("rearrange");
  if (is_merged) add("merge");
  if (!ir::is_plain(from)) add("dequantise");
  const bool widens = ir::element(to).block_bytes > ir::element(from).block_bytes;
  if (from != to && (ir::is_plain(from) || to != ir::Kind::f32)) add(widens ? "widen" : "round");
  return steps.empty() ? "identity" : steps;
}

/// Stores the parameters of one contract.
class WeightStream {
 public:
  WeightStream(const model::OpenedModel& opened, const contract::Contract& contract,
               AdapterUse adapter, WeightStore& store, const std::function<bool()>& is_wanted)
      : store_(store), is_wanted_(is_wanted) {
    for (const ir::Buffer& buffer : contract.extend.buffers)
      if (buffer.role == ir::Role::parameter) types_.emplace(buffer.name, buffer.type);
    add_origins(opened.mapping.mapper, origins_);
    if (!opened.adapter) return;
    add_origins(opened.adapter->mapper, origins_);
    if (adapter == AdapterUse::merge) merged_ = add_merged(opened, origins_);
  }

  void take(const std::string& name, const std::function<state::TensorView()>& read) {
    const std::size_t place = place_++;
    if (place >= store_.weights().size()) return write(read());
    ensure(store_.weights()[place].entry.weight == name, ErrorKind::bug,
           "kept weight {} is not '{}', though both are made from the same", place, name);
  }

  std::vector<contract::PrecisionEntry> ledger() const {
    std::vector<contract::PrecisionEntry> ledger;
    for (const StoredWeight& weight : store_.weights()) ledger.push_back(weight.entry);
    return ledger;
  }

 private:
  void write(const state::TensorView& tensor) {
    const ir::TensorType& type = types_.at(tensor.name);
    PieceConverter pieces(tensor.kind, type.kind());
    const ir::Element format = ir::element(tensor.kind);
    const std::int64_t count = *state::element_count(tensor.shape);
    for (std::int64_t at = 0; at < count; at += kPieceElements) {
      ensure(is_wanted_(), ErrorKind::invalid, "stopped while weights were written");
      const std::int64_t elements = std::min(kPieceElements, count - at);
      const auto first = static_cast<std::size_t>(at / format.block_elements * format.block_bytes);
      const auto size =
          static_cast<std::size_t>(elements / format.block_elements * format.block_bytes);
      store_.append(pieces.convert(tensor.bytes.subspan(first, size), elements));
    }
    enter(tensor, type.kind(), pieces.changes());
  }

  void enter(const state::TensorView& tensor, ir::Kind to, const Changes& changes) {
    check(tensor, to, changes);
    const Origin& origin = origins_.at(tensor.name);
    const bool is_merged = merged_.contains(tensor.name);
    store_.end({.weight = tensor.name,
                .sources = origin.tensors,
                .from = std::string(ir::name(tensor.kind)),
                .to = std::string(ir::name(to)),
                .transform = transform_of(origin, is_merged, tensor.kind, to),
                .changes_values = is_merged || changes.largest_error > 0,
                .largest_error = changes.largest_error,
                .non_finite = changes.non_finite});
  }

  static void check(const state::TensorView& tensor, ir::Kind to, const Changes& changes) {
    const bool is_matrix = tensor.shape.size() > 1 && ir::is_plain(tensor.kind);
    ensure(is_matrix || changes.non_finite == 0, ErrorKind::invalid,
           "WEIGHT_NONFINITE: '{}' has {} elements that are not finite, which no norm, bias or "
           "scale may have",
           tensor.name, changes.non_finite);
    ensure(changes.overflows == 0, ErrorKind::invalid,
           "WEIGHT_RANGE: '{}' has {} elements that are too large for {}", tensor.name,
           changes.overflows, ir::name(to));
  }

  WeightStore& store_;
  const std::function<bool()>& is_wanted_;
  std::map<std::string, ir::TensorType, std::less<>> types_;
  Origins origins_;
  std::set<std::string, std::less<>> merged_;
  std::size_t place_ = 0;  // of the weight that comes next
};

/// What became of several weights alike.
struct LedgerSum {
  std::int64_t weights = 0;
  std::int64_t non_finite = 0;
  const contract::PrecisionEntry* worst = nullptr;
};

}  // namespace

std::vector<contract::PrecisionEntry> write_weights(const model::OpenedModel& opened,
                                                    const contract::Contract& contract,
                                                    AdapterUse adapter, WeightStore& store,
                                                    const std::function<bool()>& is_wanted) {
  WeightStream stream(opened, contract, adapter, store, is_wanted);
  const state::TensorSink sink = [&](const state::TensorView& tensor) {
    stream.take(tensor.name, [&] { return tensor; });
  };
  if (!opened.adapter || adapter == AdapterUse::keep) {
    model::load_parameters(opened, sink);
    return stream.ledger();
  }
  model::load_parameters(opened, [](const state::TensorView&) {});  // checks names and shapes
  const state::TensorSource merged = model::merged_parameters(opened);
  for (const std::string& name : merged.names) stream.take(name, [&] { return merged.read(name); });
  return stream.ledger();
}

std::string summarize(const std::vector<contract::PrecisionEntry>& ledger) {
  std::map<std::string, LedgerSum> sums;
  for (const contract::PrecisionEntry& entry : ledger) {
    LedgerSum& sum = sums[fmt::format("{} to {} by {}", entry.from, entry.to, entry.transform)];
    ++sum.weights;
    sum.non_finite += entry.non_finite;
    const bool is_worse = sum.worst == nullptr || entry.largest_error > sum.worst->largest_error;
    if (is_worse) sum.worst = &entry;
  }
  std::string text;
  for (const auto& [what, sum] : sums) {
    text += fmt::format("{} weights from {}, ", sum.weights, what);
    text += sum.worst->changes_values ? fmt::format("largest error {:.6g} in {}",
                                                    sum.worst->largest_error, sum.worst->weight)
                                      : "values unchanged";
    text += sum.non_finite > 0 ? fmt::format(", {} elements not finite\n", sum.non_finite) : "\n";
  }
  return text;
}

}  // namespace parhelion::prepare
