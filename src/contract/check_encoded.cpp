#include "base/error.h"
#include "contract/encoding.h"
#include "ir/passes/instantiate.h"
#include "ir/verify.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace parhelion::contract {
namespace {

/// Sizes below this add up within 64 bits.
constexpr std::int64_t kMostArenaBytes = std::int64_t{1} << 48;
/// Ops of all instances of an entry together: bounds how long checks take.
constexpr std::int64_t kMostInstanceOps = 1 << 22;

/// Does `check`. Whatever a file makes it refuse is the file's fault.
template <class Check>
void check_of_file(std::string_view what, const Check& check) {
  try {
    check();
  } catch (const Error& error) {
    fail(error.kind() == ErrorKind::unsupported ? ErrorKind::unsupported : ErrorKind::corrupt,
         "CORE_CONTRACT_INVALID: {}{}", what, error.what());
  }
}

void check_sizes(const ir::Program& instance) {
  std::int64_t total = 0;
  for (const ir::Buffer& buffer : instance.buffers) {
    const std::int64_t bytes = ir::byte_count(buffer.type);
    ensure(bytes <= kMostArenaBytes, ErrorKind::corrupt,
           "buffer '{}' has {} bytes, expected at most {}", buffer.name, bytes, kMostArenaBytes);
    total += bytes;
    ensure(total <= kMostArenaBytes, ErrorKind::corrupt, "buffers have more than {} bytes together",
           kMostArenaBytes);
  }
}

void check_arenas(const ir::MemoryPlan& plan) {
  for (std::size_t i = 0; i < ir::kArenaCount; ++i) {
    const std::int64_t peak = plan.peak_bytes[i];
    ensure(peak >= 0 && peak <= kMostArenaBytes, ErrorKind::corrupt,
           "memory plan: arena {} has {} bytes, expected 0 to {}",
           ir::name(static_cast<ir::ArenaKind>(i)), peak, kMostArenaBytes);
  }
}

void check_instance(const ir::Program& program, const ir::Capacities& capacities,
                    const InstancePlan& plan) {
  const ir::Program instance = ir::instantiate(program, capacities);
  ir::verify(instance);
  check_sizes(instance);
  check_arenas(plan.memory);
  ir::verify_memory(instance, plan.memory);
  const bool chosen = plan.kernels.empty() || plan.kernels.size() == instance.ops.size();
  ensure(chosen, ErrorKind::corrupt, "has kernels for {} ops, expected {}", plan.kernels.size(),
         instance.ops.size());
}

void check_entry(const EntryView& entry) {
  ensure(entry.plans->size() == entry.instances.size(), ErrorKind::corrupt,
         "CORE_CONTRACT_INVALID: {} has {} memory plans, expected one for each of {} instances",
         entry.name, entry.plans->size(), entry.instances.size());
  const std::int64_t ops = std::ssize(entry.program->ops) * std::ssize(entry.instances);
  ensure(ops <= kMostInstanceOps, ErrorKind::corrupt,
         "CORE_CONTRACT_INVALID: instances of {} have {} ops together, expected at most {}",
         entry.name, ops, kMostInstanceOps);
  for (std::size_t i = 0; i < entry.instances.size(); ++i)
    check_of_file(fmt::format("{}, instance {}: ", entry.name, i + 1),
                  [&] { check_instance(*entry.program, entry.instances[i], (*entry.plans)[i]); });
}

void check_weight(const WeightPlace& weight, const ir::Buffer& parameter,
                  std::int64_t weights_bytes) {
  ensure(weight.type == parameter.type, ErrorKind::corrupt, "is {}, expected {} as in extend",
         ir::to_string(weight.type), ir::to_string(parameter.type));
  const std::int64_t bytes = ir::byte_count(weight.type);
  ensure(weight.bytes == bytes, ErrorKind::corrupt, "has {} bytes, expected {} for {}",
         weight.bytes, bytes, ir::to_string(weight.type));
  const bool inside = weight.offset >= 0 && weight.offset % kWeightAlignment == 0 &&
                      bytes <= weights_bytes && weight.offset <= weights_bytes - bytes;
  ensure(inside, ErrorKind::corrupt,
         "WEIGHT_RANGE: lies at {}, expected a multiple of {} with its {} bytes inside the section "
         "of {}",
         weight.offset, kWeightAlignment, bytes, weights_bytes);
}

/// Weights in one place are one copy; else they must not touch.
void check_apart(const std::vector<WeightPlace>& weights) {
  std::map<std::int64_t, const WeightPlace*> by_offset;
  for (const WeightPlace& weight : weights) {
    const auto [at, added] = by_offset.try_emplace(weight.offset, &weight);
    ensure(added || at->second->bytes == weight.bytes, ErrorKind::corrupt,
           "CORE_CONTRACT_INVALID: WEIGHT_RANGE: '{}' and '{}' begin at {} but differ in size",
           at->second->name, weight.name, weight.offset);
  }
  std::int64_t end = 0;
  for (const auto& [offset, weight] : by_offset) {
    ensure(offset >= end, ErrorKind::corrupt,
           "CORE_CONTRACT_INVALID: WEIGHT_RANGE: '{}' at {} overlaps the one before, which ends at "
           "{}",
           weight->name, offset, end);
    end = offset + weight->bytes;
  }
}

void check_weights(const EncodedContract& encoded, std::int64_t weights_bytes) {
  const ir::Program& extend = encoded.contract.extend;
  std::map<std::string_view, const ir::Buffer*> missing;
  for (const ir::Buffer& buffer : extend.buffers)
    if (buffer.role == ir::Role::parameter) missing[buffer.name] = &buffer;
  for (const WeightPlace& weight : encoded.weights) {
    const auto at = missing.find(weight.name);
    ensure(at != missing.end(), ErrorKind::corrupt,
           "CORE_CONTRACT_INVALID: weight '{}' is no parameter of extend, or is there twice",
           weight.name);
    check_of_file(fmt::format("weight '{}': ", weight.name),
                  [&] { check_weight(weight, *at->second, weights_bytes); });
    missing.erase(at);
  }
  if (!missing.empty())
    fail(ErrorKind::corrupt, "CORE_CONTRACT_INVALID: parameter '{}' has no weight",
         missing.begin()->first);
  check_apart(encoded.weights);
}

}  // namespace

void check_encoded(const EncodedContract& encoded, std::int64_t weights_bytes) {
  check_of_file("", [&] { validate(encoded.contract); });
  for (const EntryView& entry : entries(encoded.contract)) check_entry(entry);
  check_weights(encoded, weights_bytes);
}

}  // namespace parhelion::contract
