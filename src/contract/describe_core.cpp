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

/// A line. What comes from the file may have characters that a terminal obeys, and line ends that
/// would forge a line.
template <class... Args>
std::string line(fmt::format_string<Args...> format, Args&&... args) {
  std::string text = fmt::format(format, std::forward<Args>(args)...);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are c2 80 to c2 9f in UTF-8.
    const bool is_c1 = byte == 0xc2 && i + 1 < text.size() &&
                       static_cast<unsigned char>(text[i + 1]) >= 0x80 &&
                       static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (byte < 0x20 || byte == 0x7f) text[i] = '?';
    if (is_c1) text.replace(i, 2, "?");
  }
  return text + "\n";
}

/// The text behind a separator, if there is any.
std::string after(std::string_view separator, std::string_view text) {
  return text.empty() ? "" : fmt::format("{}{}", separator, text);
}

std::string describe_origin(const Core& core) {
  const Provenance& origin = core.contract.provenance;
  const Target& target = core.contract.target;
  std::string text = line("core      {}", core.digest);
  text += line("signature {}{}", name(core.signature),
               core.signer.empty() ? "" : fmt::format(" ({})", core.signer));
  text += line("schema    revision {}{}", core.revision, core.revision == 0 ? ", unstable" : "");
  text += line("model     {}", core.contract.model);
  if (!origin.source.empty())
    text += line("source    {}{}", origin.source, after(" ", origin.revision));
  for (const SourceFile& file : origin.files)
    text += line("          {} {}", file.name, file.digest);
  if (!origin.tool.empty())
    text += line("prepared  by {}{}", origin.tool, after(" on ", origin.host));
  for (const std::string& library : origin.libraries) text += line("library   {}", library);
  text += line(
      "target    {} {} {}{}", name(target.device), name(target.numerics),
      target.architecture.empty() ? "any" : target.architecture,
      target.memory_bytes == 0 ? "" : fmt::format(", {} bytes of memory", target.memory_bytes));
  return text;
}

std::string describe_entry(const EntryView& entry) {
  std::string text = line("entry     {}: {} ops, {} buffers", entry.name, entry.program->ops.size(),
                          entry.program->buffers.size());
  for (std::size_t i = 0; i < entry.instances.size(); ++i) {
    const ir::Capacities& capacities = entry.instances[i];
    const auto& peaks = (*entry.plans)[i].memory.peak_bytes;
    text += line("instance  {}: {} tokens, {} rows, {} logit rows; {} bytes transient", i + 1,
                 capacities[ir::Symbol::tokens], capacities[ir::Symbol::rows],
                 capacities[ir::Symbol::logit_rows],
                 peaks[static_cast<std::size_t>(ir::ArenaKind::transient)]);
  }
  return text;
}

std::string describe_programs(const Contract& contract) {
  std::string text =
      line("cache     {} tokens of context, pages of {} tokens and {} bytes, {} groups",
           contract.cache.context_tokens, contract.cache.page_tokens, page_bytes(contract),
           contract.cache.groups.size());
  std::map<std::pair<std::string, std::string>, std::int64_t> kernels;
  for (const EntryView& entry : entries(contract)) {
    text += describe_entry(entry);
    for (const InstancePlan& plan : *entry.plans)
      for (const KernelChoice& choice : plan.kernels) ++kernels[{choice.kernel, choice.numerics}];
  }
  for (const auto& [kernel, count] : kernels)
    text += line("kernel    {} for {} ops, numerics {}", kernel.first, count,
                 kernel.second.empty() ? "not said" : kernel.second);
  return text;
}

std::string value_text(std::string_view name, const SamplingValue& value) {
  return line("sampling  {} {} in [{}, {}]", name, value.standard, value.lowest, value.highest);
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
  text += line("stop ids  {}", fmt::join(contract.stop_ids, " "));
  text += line("tokenizer {}, {} bytes; vocabulary {}",
               frontend.tokenizer_format.empty() ? "none" : frontend.tokenizer_format,
               frontend.tokenizer.size(), contract.vocabulary);
  text += line("template  {} bytes; reasoning {}, tools {}", frontend.chat_template.size(),
               frontend.reasoning_format.empty() ? "none" : frontend.reasoning_format,
               frontend.tool_format.empty() ? "none" : frontend.tool_format);
  text += line("special   {} ids; bos {}{}, pad {}, unknown {}", frontend.special_ids.size(),
               id_text(frontend.bos_id), frontend.add_bos ? " before each prompt" : "",
               id_text(frontend.pad_id), id_text(frontend.unknown_id));
  for (const Asset& asset : frontend.assets)
    text += line("asset     {}, {} bytes", asset.name, asset.bytes.size());
  return text;
}

std::string describe_golden(const Golden& golden) {
  if (golden.probes.empty()) return "";
  std::string text = line("golden    {} {} on {}, within {}", golden.dtype, golden.numerics,
                          golden.host, golden.tolerance);
  for (const GoldenProbe& probe : golden.probes)
    text += line("probe     {}: {} ids, then {}; temperature {}, {} of them firm", probe.name,
                 probe.prompt.size(), probe.tokens.size(), probe.temperature,
                 std::ranges::count(probe.tokens, true, &GoldenToken::is_firm));
  return text;
}

std::string describe_file(const Core& core) {
  std::string text =
      line("weights   {} parameters, {} bytes", core.weights.size(), resident_bytes(core.weights));
  for (const PrecisionEntry& entry : core.contract.precision)
    text += line("precision {}", describe(entry));
  for (const SectionView& section : core.sections)
    text +=
        line("section   {} at {}, {} bytes", section.name, section.offset, section.bytes.size());
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
  return describe_origin(core) + describe_programs(core.contract) + describe_policy(core.contract) +
         describe_golden(core.contract.golden) + describe_file(core);
}

}  // namespace parhelion::contract
