#include "train/config/job.h"

#include "base/describe_settings.h"
#include "base/file.h"
#include "base/override_setting.h"
#include "base/read_settings.h"
#include "base/toml.h"
#include "base/write_settings.h"
#include "train/config/check_job.h"

namespace parhelion::train {
namespace {

constexpr std::int64_t kMaxJobBytes = std::int64_t{1} << 20;

/// Gives settings whose default follows from others their value.
void fill_defaults(Job& job) {
  DataSettings& data = job.data;
  if (data.microbatch_tokens == 0) data.microbatch_tokens = data.sequence_tokens;
  if (data.buckets.empty()) data.buckets = {data.microbatch_tokens};
  if (data.cache.empty()) data.cache = job.run.directory / "cache";
  ModelSettings& model = job.model;
  if (!model.recompute)
    model.recompute = model.memory_budget ? Recompute::automatic : Recompute::none;
}

}  // namespace

Job read_job(const Json& json, const std::filesystem::path& directory, std::string_view where) {
  Job job = read_settings<Job>(json, where);
  resolve_paths(job, directory);
  fill_defaults(job);
  check_job(job, where);
  return job;
}

Job open_job(const std::filesystem::path& file, std::span<const std::string> overrides) {
  const std::string text = read_file(file, kMaxJobBytes);
  Json json = file.extension() == ".json" ? parse_json(text, file.string())
                                          : parse_toml(text, file.string());
  for (const std::string& assignment : overrides) json = override_setting(json, assignment);
  return read_job(json, file.parent_path(), file.string());
}

Json write_job(const Job& job) {
  Job whole = job;
  resolve_paths(whole, std::filesystem::current_path());
  return write_settings(whole);
}

std::string describe_job() { return describe_settings<Job>(); }

}  // namespace parhelion::train
