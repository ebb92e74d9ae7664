#include "contract/policy_message.h"

#include "contract/core.pb.h"
#include "contract/enum_table.h"

namespace parhelion::contract {
namespace {

constexpr EnumTable<CacheScheme, proto::CacheScheme, 2> kSchemeNumbers = {
    {{CacheScheme::full, proto::CACHE_SCHEME_FULL},
     {CacheScheme::sliding_window, proto::CACHE_SCHEME_SLIDING_WINDOW}}};

constexpr EnumTable<DeviceKind, proto::DeviceKind, 2> kDeviceNumbers = {
    {{DeviceKind::cpu, proto::DEVICE_KIND_CPU}, {DeviceKind::cuda, proto::DEVICE_KIND_CUDA}}};

constexpr EnumTable<Numerics, proto::Numerics, 3> kNumericsNumbers = {
    {{Numerics::exact, proto::NUMERICS_EXACT},
     {Numerics::invariant, proto::NUMERICS_INVARIANT},
     {Numerics::fast, proto::NUMERICS_FAST}}};

/// A repeated field of a message as a vector of ours.
template <class Ours, class Repeated>
std::vector<Ours> vector_of(const Repeated& repeated) {
  return {repeated.begin(), repeated.end()};
}

void write_sampling_value(const SamplingValue& value, proto::SamplingValue& message) {
  message.set_standard(value.standard);
  message.set_lowest(value.lowest);
  message.set_highest(value.highest);
}

SamplingValue read_sampling_value(const proto::SamplingValue& message) {
  return {.standard = message.standard(), .lowest = message.lowest(), .highest = message.highest()};
}

}  // namespace

void write_message(const SamplingPolicy& policy, proto::SamplingPolicy& message) {
  write_sampling_value(policy.temperature, *message.mutable_temperature());
  write_sampling_value(policy.top_k, *message.mutable_top_k());
  write_sampling_value(policy.top_p, *message.mutable_top_p());
  write_sampling_value(policy.min_p, *message.mutable_min_p());
  write_sampling_value(policy.repetition_penalty, *message.mutable_repetition_penalty());
  write_sampling_value(policy.presence_penalty, *message.mutable_presence_penalty());
  write_sampling_value(policy.frequency_penalty, *message.mutable_frequency_penalty());
  message.set_max_tokens(policy.max_tokens);
  for (const std::string& text : policy.stop_strings) message.add_stop_strings(text);
}

SamplingPolicy read_message(const proto::SamplingPolicy& message) {
  SamplingPolicy policy{.temperature = read_sampling_value(message.temperature()),
                        .top_k = read_sampling_value(message.top_k()),
                        .top_p = read_sampling_value(message.top_p()),
                        .min_p = read_sampling_value(message.min_p()),
                        .max_tokens = message.max_tokens(),
                        .stop_strings = vector_of<std::string>(message.stop_strings())};
  if (message.has_repetition_penalty())
    policy.repetition_penalty = read_sampling_value(message.repetition_penalty());
  if (message.has_presence_penalty())
    policy.presence_penalty = read_sampling_value(message.presence_penalty());
  if (message.has_frequency_penalty())
    policy.frequency_penalty = read_sampling_value(message.frequency_penalty());
  return policy;
}

void write_message(const CachePolicy& policy, proto::CachePolicy& message) {
  message.set_page_tokens(policy.page_tokens);
  message.set_context_tokens(policy.context_tokens);
  for (const CacheGroup& group : policy.groups) {
    proto::CacheGroup& out = *message.add_groups();
    out.set_scheme(to_file(kSchemeNumbers, group.scheme));
    out.set_window_tokens(group.window_tokens);
    for (const std::string& buffer : group.buffers) out.add_buffers(buffer);
  }
}

CachePolicy read_message(const proto::CachePolicy& message) {
  CachePolicy policy{.page_tokens = message.page_tokens(),
                     .context_tokens = message.context_tokens()};
  for (const proto::CacheGroup& group : message.groups())
    policy.groups.push_back(
        {.scheme = from_file(kSchemeNumbers, group.scheme(), "the scheme of a cache group"),
         .window_tokens = group.window_tokens(),
         .buffers = vector_of<std::string>(group.buffers())});
  return policy;
}

void write_message(const EmbeddingPolicy& policy, proto::EmbeddingPolicy& message) {
  message.set_as_they_are(!policy.normalises);
  for (const std::int64_t dimension : policy.dimensions) message.add_dimensions(dimension);
}

EmbeddingPolicy read_message(const proto::EmbeddingPolicy& message) {
  return {.normalises = !message.as_they_are(),
          .dimensions = vector_of<std::int64_t>(message.dimensions())};
}

void write_message(const Limits& limits, proto::Limits& message) {
  message.set_rows(limits.rows);
  message.set_step_tokens(limits.step_tokens);
  message.set_prompt_tokens(limits.prompt_tokens);
  message.set_output_tokens(limits.output_tokens);
  message.set_request_sequences(limits.request_sequences);
  message.set_queued_requests(limits.queued_requests);
}

Limits read_message(const proto::Limits& message) {
  return {.rows = message.rows(),
          .step_tokens = message.step_tokens(),
          .prompt_tokens = message.prompt_tokens(),
          .output_tokens = message.output_tokens(),
          .request_sequences = message.request_sequences(),
          .queued_requests = message.queued_requests()};
}

void write_message(const Frontend& frontend, proto::Frontend& message) {
  message.set_tokenizer_format(frontend.tokenizer_format);
  for (const Asset& asset : frontend.assets) message.add_assets(asset.name);
  message.set_reasoning_format(frontend.reasoning_format);
  message.set_tool_format(frontend.tool_format);
  if (frontend.bos_id) message.set_bos_id(*frontend.bos_id);
  if (frontend.pad_id) message.set_pad_id(*frontend.pad_id);
  if (frontend.unknown_id) message.set_unknown_id(*frontend.unknown_id);
  for (const std::int32_t id : frontend.special_ids) message.add_special_ids(id);
  message.set_add_bos(frontend.add_bos);
}

Frontend read_message(const proto::Frontend& message) {
  Frontend frontend{.tokenizer_format = message.tokenizer_format(),
                    .reasoning_format = message.reasoning_format(),
                    .tool_format = message.tool_format(),
                    .special_ids = vector_of<std::int32_t>(message.special_ids()),
                    .add_bos = message.add_bos()};
  for (const std::string& name : message.assets())
    frontend.assets.push_back({.name = name, .bytes = {}});
  if (message.has_bos_id()) frontend.bos_id = message.bos_id();
  if (message.has_pad_id()) frontend.pad_id = message.pad_id();
  if (message.has_unknown_id()) frontend.unknown_id = message.unknown_id();
  return frontend;
}

void write_message(const Provenance& provenance, proto::Provenance& message) {
  message.set_source(provenance.source);
  message.set_revision(provenance.revision);
  for (const SourceFile& file : provenance.files) {
    proto::SourceFile& out = *message.add_files();
    out.set_name(file.name);
    out.set_digest(file.digest);
  }
  message.set_recipe(provenance.recipe);
  message.set_tool(provenance.tool);
  for (const std::string& library : provenance.libraries) message.add_libraries(library);
  message.set_host(provenance.host);
  message.set_created_unix(provenance.created_unix);
}

Provenance read_message(const proto::Provenance& message) {
  Provenance provenance{.source = message.source(),
                        .revision = message.revision(),
                        .recipe = message.recipe(),
                        .tool = message.tool(),
                        .libraries = vector_of<std::string>(message.libraries()),
                        .host = message.host(),
                        .created_unix = message.created_unix()};
  for (const proto::SourceFile& file : message.files())
    provenance.files.push_back({.name = file.name(), .digest = file.digest()});
  return provenance;
}

void write_message(const Target& target, proto::Target& message) {
  message.set_device(to_file(kDeviceNumbers, target.device));
  message.set_numerics(to_file(kNumericsNumbers, target.numerics));
  message.set_architecture(target.architecture);
  message.set_memory_bytes(target.memory_bytes);
}

Target read_message(const proto::Target& message) {
  return {.device = from_file(kDeviceNumbers, message.device(), "the device"),
          .numerics = from_file(kNumericsNumbers, message.numerics(), "the level of numerics"),
          .architecture = message.architecture(),
          .memory_bytes = message.memory_bytes()};
}

void write_message(const PrecisionEntry& entry, proto::PrecisionEntry& message) {
  message.set_weight(entry.weight);
  for (const std::string& source : entry.sources) message.add_sources(source);
  message.set_from(entry.from);
  message.set_to(entry.to);
  message.set_transform(entry.transform);
  message.set_changes_values(entry.changes_values);
  message.set_largest_error(entry.largest_error);
  message.set_non_finite(entry.non_finite);
}

PrecisionEntry read_message(const proto::PrecisionEntry& message) {
  return {.weight = message.weight(),
          .sources = vector_of<std::string>(message.sources()),
          .from = message.from(),
          .to = message.to(),
          .transform = message.transform(),
          .changes_values = message.changes_values(),
          .largest_error = message.largest_error(),
          .non_finite = message.non_finite()};
}

}  // namespace parhelion::contract
