#include "train/loop/job_digest.h"

#include "base/hash.h"
#include "base/setting.h"
#include "base/write_settings.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

namespace parhelion::train {
namespace {

using SettingTexts = std::map<std::string, std::string>;

/// Adds every value of a tree under its key.
void collect_settings(const Json& value, const std::string& key, SettingTexts& texts) {
  if (!value.is_object()) {
    texts[key] = write_json(value);
    return;
  }
  for (const auto& [name, member] : value.as_object(key))
    collect_settings(member, setting_path(key, name), texts);
}

/// Keys, or tables of them, that may make one job's checkpoints unfit for another.
bool concerns_digest(std::string_view key) {
  constexpr std::array kConcerned = {"run.seed",
                                     "model.",
                                     "lora.",
                                     "data.",
                                     "optimizer.kind",
                                     "optimizer.momentum",
                                     "optimizer.moments",
                                     "optimizer.amsgrad",
                                     "optimizer.master_weights"};
  constexpr std::array kFree = {"model.recompute", "model.memory_budget", "data.cache",
                                "data.epochs", "data.prefetch"};
  const auto begins = [&](std::string_view each) { return key.starts_with(each); };
  return std::ranges::any_of(kConcerned, begins) && std::ranges::none_of(kFree, begins);
}

SettingTexts concerned_settings(const Json& job) {
  SettingTexts texts;
  collect_settings(job, "", texts);
  std::erase_if(texts, [](const auto& each) { return !concerns_digest(each.first); });
  return texts;
}

}  // namespace

std::string job_digest(const Job& job, const ir::Program& step, const std::string& documents_key,
                       const std::string& base_digest) {
  DataSettings data = job.data;
  data.files.clear();  // their content is in the documents' key
  data.cache.clear();
  data.epochs = 0;
  data.prefetch = 0;
  std::string text =
      fmt::format("{} {} {}", write_json(write_settings(data)), documents_key, job.run.seed);
  if (job.lora)
    text += fmt::format("\nlora {} {} {}", job.lora->alpha, job.lora->dropout, base_digest);
  for (const ir::Buffer& buffer : step.buffers) {
    if (buffer.role == ir::Role::parameter || buffer.role == ir::Role::state)
      text += fmt::format("\n{} {}", buffer.name, to_string(buffer.type));
  }
  return hex(hash128(std::as_bytes(std::span(text))));
}

std::string describe_job_change(const Json& saved, const Job& job) {
  const SettingTexts before = concerned_settings(saved);
  const SettingTexts now = concerned_settings(write_job(job));
  SettingTexts keys = before;
  keys.insert(now.begin(), now.end());
  const auto text_in = [](const SettingTexts& texts, const std::string& key) {
    const auto at = texts.find(key);
    return at == texts.end() ? std::string("absent") : at->second;
  };
  std::vector<std::string> changes;
  for (const auto& [key, text] : keys) {
    const std::string old = text_in(before, key), present = text_in(now, key);
    if (old != present) changes.push_back(fmt::format("{}: {} -> {}", key, old, present));
  }
  if (changes.empty())
    return "its keys are the same, so what data, model or tokenizer hold changed";
  return fmt::format("{}", fmt::join(changes, "; "));
}

}  // namespace parhelion::train
