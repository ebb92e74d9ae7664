#include "contract/encoding.h"

#include "base/error.h"
#include "contract/core.pb.h"
#include "contract/enum_table.h"
#include "contract/policy_message.h"
#include "contract/program_message.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <map>
#include <tuple>

namespace parhelion::contract {
namespace {

constexpr int kMostNesting = 16;  // the schema nests to 7
constexpr std::int64_t kMostInstances = 256;

constexpr EnumTable<ir::ArenaKind, proto::Arena, ir::kArenaCount> kArenaNumbers = {
    {{ir::ArenaKind::persistent, proto::ARENA_PERSISTENT},
     {ir::ArenaKind::slot, proto::ARENA_SLOT},
     {ir::ArenaKind::transient, proto::ARENA_TRANSIENT}}};

/// Kernel choices that differ, numbered from 1 in the order of their first use.
class KernelTable {
 public:
  explicit KernelTable(proto::Contract& message) : message_(message) {}

  std::uint32_t number(const KernelChoice& choice) {
    const auto [at, added] =
        numbers_.try_emplace({choice.kernel, choice.numerics, choice.parameters},
                             static_cast<std::uint32_t>(numbers_.size()) + 1);
    if (!added) return at->second;
    proto::Kernel& out = *message_.add_kernels();
    out.set_name(choice.kernel);
    out.set_numerics(choice.numerics);
    out.set_parameters(choice.parameters);
    return at->second;
  }

 private:
  proto::Contract& message_;
  std::map<std::tuple<std::string, std::string, std::string>, std::uint32_t> numbers_;
};

void write_plan(const InstancePlan& plan, KernelTable& kernels, proto::InstancePlan& message) {
  for (const ir::Range& range : plan.memory.of_value) {
    message.add_arenas(to_file(kArenaNumbers, range.arena));
    message.add_offsets(range.offset);
    message.add_bytes(range.bytes);
  }
  for (std::size_t i = 0; i < ir::kArenaCount; ++i) {
    proto::ArenaSize& size = *message.add_sizes();
    size.set_peak_bytes(plan.memory.peak_bytes[i]);
    size.set_lower_bound_bytes(plan.memory.lower_bound_bytes[i]);
  }
  for (const KernelChoice& choice : plan.kernels) message.add_kernels(kernels.number(choice));
}

ir::MemoryPlan read_memory(const proto::InstancePlan& message) {
  const bool even = message.offsets_size() == message.arenas_size() &&
                    message.bytes_size() == message.arenas_size() &&
                    message.sizes_size() == static_cast<int>(ir::kArenaCount);
  ensure(even, ErrorKind::corrupt,
         "CORE_CONTRACT_INVALID: a memory plan has {} arenas, {} offsets, {} sizes of ranges and "
         "{} of arenas",
         message.arenas_size(), message.offsets_size(), message.bytes_size(), message.sizes_size());
  ir::MemoryPlan plan;
  for (int i = 0; i < message.arenas_size(); ++i)
    plan.of_value.push_back(
        {.arena = from_file(kArenaNumbers, message.arenas(i), "the arena of a value"),
         .offset = message.offsets(i),
         .bytes = message.bytes(i)});
  for (std::size_t i = 0; i < ir::kArenaCount; ++i) {
    plan.peak_bytes[i] = message.sizes(static_cast<int>(i)).peak_bytes();
    plan.lower_bound_bytes[i] = message.sizes(static_cast<int>(i)).lower_bound_bytes();
  }
  return plan;
}

InstancePlan read_plan(const proto::InstancePlan& message, const proto::Contract& contract) {
  InstancePlan plan{.memory = read_memory(message)};
  const auto count = static_cast<std::uint32_t>(contract.kernels_size());
  for (const std::uint32_t number : message.kernels()) {
    ensure(number >= 1 && number <= count, ErrorKind::corrupt,
           "CORE_CONTRACT_INVALID: kernel {} does not exist, there are {}", number, count);
    const proto::Kernel& kernel = contract.kernels(static_cast<int>(number) - 1);
    plan.kernels.push_back({.kernel = kernel.name(),
                            .numerics = kernel.numerics(),
                            .parameters = kernel.parameters()});
  }
  return plan;
}

void write_capacities(const ir::Capacities& capacities, proto::Capacities& message) {
  message.set_tokens(capacities[ir::Symbol::tokens]);
  message.set_rows(capacities[ir::Symbol::rows]);
  message.set_logit_rows(capacities[ir::Symbol::logit_rows]);
  message.set_documents(capacities[ir::Symbol::documents]);
  message.set_pages_per_row(capacities[ir::Symbol::pages_per_row]);
  message.set_pages(capacities[ir::Symbol::pages]);
}

ir::Capacities read_capacities(const proto::Capacities& message) {
  ir::Capacities capacities;
  capacities[ir::Symbol::tokens] = message.tokens();
  capacities[ir::Symbol::rows] = message.rows();
  capacities[ir::Symbol::logit_rows] = message.logit_rows();
  capacities[ir::Symbol::documents] = message.documents();
  capacities[ir::Symbol::pages_per_row] = message.pages_per_row();
  capacities[ir::Symbol::pages] = message.pages();
  return capacities;
}

void write_instances(const Contract& contract, proto::Contract& message) {
  for (const ir::Capacities& instance : contract.catalogue)
    write_capacities(instance, *message.add_catalogue());
  for (const ir::Capacities& instance : contract.edited_catalogue)
    write_capacities(instance, *message.add_edited_catalogue());
  for (const ir::Capacities& instance : contract.embed_catalogue)
    write_capacities(instance, *message.add_embed_catalogue());
  KernelTable kernels(message);
  for (const InstancePlan& plan : contract.plans) write_plan(plan, kernels, *message.add_plans());
  for (const InstancePlan& plan : contract.edited_plans)
    write_plan(plan, kernels, *message.add_edited_plans());
  for (const InstancePlan& plan : contract.copy_plans)
    write_plan(plan, kernels, *message.add_copy_plans());
  for (const InstancePlan& plan : contract.embed_plans)
    write_plan(plan, kernels, *message.add_embed_plans());
}

void read_entries(const proto::Contract& message, std::span<const Upgrade> upgrades,
                  Contract& contract) {
  contract.extend = read_message(message.extend(), upgrades);
  if (message.has_edited()) contract.edited = read_message(message.edited(), upgrades);
  if (message.has_copy_pages()) contract.copy_pages = read_message(message.copy_pages(), upgrades);
  if (message.has_embed()) contract.embed = read_message(message.embed(), upgrades);
  for (const proto::Capacities& instance : message.catalogue())
    contract.catalogue.push_back(read_capacities(instance));
  for (const proto::Capacities& instance : message.edited_catalogue())
    contract.edited_catalogue.push_back(read_capacities(instance));
  for (const proto::Capacities& instance : message.embed_catalogue())
    contract.embed_catalogue.push_back(read_capacities(instance));
  for (const proto::InstancePlan& plan : message.plans())
    contract.plans.push_back(read_plan(plan, message));
  for (const proto::InstancePlan& plan : message.edited_plans())
    contract.edited_plans.push_back(read_plan(plan, message));
  for (const proto::InstancePlan& plan : message.copy_plans())
    contract.copy_plans.push_back(read_plan(plan, message));
  for (const proto::InstancePlan& plan : message.embed_plans())
    contract.embed_plans.push_back(read_plan(plan, message));
}

proto::Contract message_of(const Contract& contract, std::span<const WeightPlace> weights) {
  proto::Contract message;
  message.set_revision(kSchemaRevision);
  message.set_model(contract.model);
  write_message(contract.extend, *message.mutable_extend());
  if (!contract.edited.ops.empty()) write_message(contract.edited, *message.mutable_edited());
  if (!contract.copy_pages.ops.empty())
    write_message(contract.copy_pages, *message.mutable_copy_pages());
  if (!contract.embed.ops.empty()) {
    write_message(contract.embed, *message.mutable_embed());
    write_message(contract.embedding, *message.mutable_embedding());
  }
  write_instances(contract, message);
  message.set_vocabulary(contract.vocabulary);
  write_message(contract.cache, *message.mutable_cache());
  write_message(contract.sampling, *message.mutable_sampling());
  for (const std::int32_t id : contract.stop_ids) message.add_stop_ids(id);
  write_message(contract.provenance, *message.mutable_provenance());
  write_message(contract.target, *message.mutable_target());
  write_message(contract.limits, *message.mutable_limits());
  write_message(contract.frontend, *message.mutable_frontend());
  for (const PrecisionEntry& entry : contract.precision)
    write_message(entry, *message.add_precision());
  message.set_completion_tokens(contract.completion_tokens);
  message.set_verify_tokens(contract.verify_tokens);
  if (!contract.golden.probes.empty()) write_message(contract.golden, *message.mutable_golden());
  for (const WeightPlace& place : weights) {
    proto::Weight& weight = *message.add_weights();
    weight.set_name(place.name);
    write_message(place.type, *weight.mutable_type());
    weight.set_offset(place.offset);
    weight.set_bytes(place.bytes);
  }
  return message;
}

proto::Contract parse_message(std::span<const std::byte> bytes) {
  ensure(std::ssize(bytes) <= kMostContractBytes, ErrorKind::corrupt,
         "CORE_CONTRACT_PARSE: has {} bytes, expected at most {}", bytes.size(),
         kMostContractBytes);
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                               static_cast<int>(bytes.size()));
  input.SetRecursionLimit(kMostNesting);
  proto::Contract message;
  const bool parsed = message.ParseFromCodedStream(&input) && input.ConsumedEntireMessage();
  ensure(parsed, ErrorKind::corrupt, "CORE_CONTRACT_PARSE: {} bytes are no contract message",
         bytes.size());
  for (const std::uint32_t feature : message.required_features())
    fail(ErrorKind::unsupported, "CORE_FEATURE_UNKNOWN: needs feature {}, this build has none",
         feature);
  for (const int count :
       {message.catalogue_size(), message.edited_catalogue_size(), message.plans_size(),
        message.edited_plans_size(), message.copy_plans_size(), message.embed_catalogue_size(),
        message.embed_plans_size()})
    ensure(count <= kMostInstances, ErrorKind::corrupt,
           "CORE_CONTRACT_INVALID: has {} instances or plans, expected at most {}", count,
           kMostInstances);
  return message;
}

}  // namespace

std::string encode(const Contract& contract, std::span<const WeightPlace> weights) {
  const proto::Contract message = message_of(contract, weights);
  ensure(static_cast<std::int64_t>(message.ByteSizeLong()) <= kMostContractBytes,
         ErrorKind::exhausted, "contract: has {} bytes encoded, expected at most {}",
         message.ByteSizeLong(), kMostContractBytes);
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream output(&stream);
  output.SetSerializationDeterministic(true);
  ensure(message.SerializeToCodedStream(&output), ErrorKind::bug, "contract: cannot be encoded");
  output.Trim();
  return bytes;
}

EncodedContract decode(std::span<const std::byte> bytes, std::span<const Upgrade> upgrades) {
  const proto::Contract message = parse_message(bytes);
  EncodedContract result{.revision = message.revision(), .contract = {}, .weights = {}};
  Contract& contract = result.contract;
  contract.model = message.model();
  read_entries(message, upgrades, contract);
  contract.vocabulary = message.vocabulary();
  contract.cache = read_message(message.cache());
  contract.sampling = read_message(message.sampling());
  contract.embedding = read_message(message.embedding());
  contract.stop_ids.assign(message.stop_ids().begin(), message.stop_ids().end());
  contract.provenance = read_message(message.provenance());
  contract.target = read_message(message.target());
  contract.limits = read_message(message.limits());
  contract.frontend = read_message(message.frontend());
  for (const proto::PrecisionEntry& entry : message.precision())
    contract.precision.push_back(read_message(entry));
  contract.completion_tokens = message.completion_tokens();
  contract.verify_tokens = message.verify_tokens() == 0 ? 1 : message.verify_tokens();
  if (message.has_golden()) contract.golden = read_message(message.golden());
  for (const proto::Weight& weight : message.weights())
    result.weights.push_back({.name = weight.name(),
                              .type = read_message(weight.type()),
                              .offset = weight.offset(),
                              .bytes = weight.bytes()});
  return result;
}

}  // namespace parhelion::contract
