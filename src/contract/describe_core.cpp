#include "contract/core.h"
#include "ir/passes/instantiate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace parhelion::contract {
namespace {

std::int64_t resident_bytes(const std::vector<WeightView>& weights) {
  std::map<const std::byte*, std::int64_t> places;
  for (const WeightView& weight : weights) places[weight.bytes.data()] = std::ssize(weight.bytes);
  std::int64_t total = 0;
  for (const auto& [place, bytes] : places) total += bytes;
  return total;
}

/// The text behind a separator, if there is any.
std::string after(std::string_view separator, std::string_view text) {
  return text.empty() ? "" : fmt::format("{}{}", separator, text);
}

std::string describe_origin(const Core& core) {
  const Provenance& origin = core.contract.provenance;
  const Target& target = core.contract.target;
  std::string text = fmt::format("core      {}\n", core.digest);
  text += fmt::format("signature {}{}\n", name(core.signature),
                      core.signer.empty() ? "" : fmt::format(" ({})", core.signer));
  text += fmt::format("schema    revision {}{}\n", core.revision,
                      core.revision == 0 ? ", unstable" : "");
  text += fmt::format("model     {}\n", core.contract.model);
  if (!origin.source.empty())
    text += fmt::format("source    {}{}\n", origin.source, after(" ", origin.revision));
  for (const SourceFile& file : origin.files)
    text += fmt::format("          {} {}\n", file.name, file.digest);
  if (!origin.tool.empty())
    text += fmt::format("prepared  by {}{}\n", origin.tool, after(" on ", origin.host));
  for (const std::string& library : origin.libraries)
    text += fmt::format("library   {}\n", library);
  text += fmt::format(
      "target    {} {} {}{}\n", name(target.device), name(target.numerics),
      target.architecture.empty() ? "any" : target.architecture,
      target.memory_bytes == 0 ? "" : fmt::format(", {} bytes of memory", target.memory_bytes));
  return text;
}

std::string describe_entry(const EntryView& entry) {
  std::string text = fmt::format("entry     {}: {} ops, {} buffers\n", entry.name,
                                 entry.program->ops.size(), entry.program->buffers.size());
  for (std::size_t i = 0; i < entry.instances.size(); ++i) {
    const ir::Capacities& capacities = entry.instances[i];
    const auto& peaks = (*entry.plans)[i].memory.peak_bytes;
    text += fmt::format("instance  {}: {} tokens, {} rows, {} logit rows; {} bytes transient\n",
                        i + 1, capacities[ir::Symbol::tokens], capacities[ir::Symbol::rows],
                        capacities[ir::Symbol::logit_rows],
                        peaks[static_cast<std::size_t>(ir::ArenaKind::transient)]);
  }
  return text;
}

std::string describe_programs(const Contract& contract) {
  std::string text =
      fmt::format("cache     {} tokens of context, pages of {} tokens and {} bytes, {} groups\n",
                  contract.cache.context_tokens, contract.cache.page_tokens, page_bytes(contract),
                  contract.cache.groups.size());
  std::map<std::pair<std::string, std::string>, std::int64_t> kernels;
  for (const EntryView& entry : entries(contract)) {
    text += describe_entry(entry);
    for (const InstancePlan& plan : *entry.plans)
      for (const KernelChoice& choice : plan.kernels) ++kernels[{choice.kernel, choice.numerics}];
  }
  for (const auto& [kernel, count] : kernels)
    text += fmt::format("kernel    {} for {} ops, numerics {}\n", kernel.first, count,
                        kernel.second.empty() ? "not said" : kernel.second);
  return text;
}

std::string value_text(std::string_view name, const SamplingValue& value) {
  return fmt::format("sampling  {} {} in [{}, {}]\n", name, value.standard, value.lowest,
                     value.highest);
}

std::string id_text(std::optional<std::int32_t> id) { return id ? fmt::format("{}", *id) : "none"; }

std::string describe_policy(const Contract& contract) {
  const SamplingPolicy& sampling = contract.sampling;
  std::string text = value_text("temperature", sampling.temperature);
  text += value_text("top_k", sampling.top_k);
  text += value_text("top_p", sampling.top_p);
  text += value_text("min_p", sampling.min_p);
  text += value_text("repetition_penalty", sampling.repetition_penalty);
  text += value_text("presence_penalty", sampling.presence_penalty);
  text += value_text("frequency_penalty", sampling.frequency_penalty);
  const Frontend& frontend = contract.frontend;
  text += fmt::format("stop ids  {}\n", fmt::join(contract.stop_ids, " "));
  text += fmt::format("tokenizer {}, {} bytes; vocabulary {}\n",
                      frontend.tokenizer_format.empty() ? "none" : frontend.tokenizer_format,
                      frontend.tokenizer.size(), contract.vocabulary);
  text += fmt::format("template  {} bytes; reasoning {}, tools {}\n", frontend.chat_template.size(),
                      frontend.reasoning_format.empty() ? "none" : frontend.reasoning_format,
                      frontend.tool_format.empty() ? "none" : frontend.tool_format);
  text +=
      fmt::format("special   {} ids; bos {}{}, pad {}, unknown {}\n", frontend.special_ids.size(),
                  id_text(frontend.bos_id), frontend.add_bos ? " before each prompt" : "",
                  id_text(frontend.pad_id), id_text(frontend.unknown_id));
  for (const Asset& asset : frontend.assets)
    text += fmt::format("asset     {}, {} bytes\n", asset.name, asset.bytes.size());
  return text;
}

std::string describe_file(const Core& core) {
  std::string text = fmt::format("weights   {} parameters, {} bytes\n", core.weights.size(),
                                 resident_bytes(core.weights));
  for (const PrecisionEntry& entry : core.contract.precision)
    text += fmt::format("precision {}\n", describe(entry));
  for (const SectionView& section : core.sections)
    text += fmt::format("section   {} at {}, {} bytes\n", section.name, section.offset,
                        section.bytes.size());
  return text;
}

/// Names of a file may have characters that a terminal obeys.
std::string printable(std::string text) {
  const auto obeyed = [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f;
  };
  std::ranges::replace_if(text, obeyed, '?');
  return text;
}

}  // namespace

std::string describe(const PrecisionEntry& entry) {
  std::string text =
      fmt::format("{}: {} to {} by {}, {}", entry.weight, entry.from, entry.to, entry.transform,
                  entry.changes_values ? fmt::format("largest error {:.6g}", entry.largest_error)
                                       : "values unchanged");
  if (entry.non_finite > 0) text += fmt::format(", {} not finite", entry.non_finite);
  return text;
}

std::string describe(const Core& core) {
  return printable(describe_origin(core) + describe_programs(core.contract) +
                   describe_policy(core.contract) + describe_file(core));
}

}  // namespace parhelion::contract
