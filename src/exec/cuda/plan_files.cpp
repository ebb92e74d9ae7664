#include "exec/cuda/plan_files.h"

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"

#include <span>
#include <system_error>

namespace parhelion::exec::cuda {
namespace {

std::string plan_file_hash(std::string_view text) {
  return hex(hash128(std::as_bytes(std::span(text))));
}

std::filesystem::path plan_file(const std::filesystem::path& directory, std::string_view key) {
  return directory / (plan_file_hash(key) + ".plan");
}

/// Key and content as a file holds them behind the hash of both.
std::string plan_file_body(std::string_view key, std::string_view content) {
  return fmt::format("{}\n{}", key, content);
}

constexpr std::size_t kPlanFileHash = 32;

std::optional<std::string> refused_plan(const std::filesystem::path& path) {
  log(LogLevel::warning, "plan cache: {} is damaged, expected a plan; it is made anew",
      path.string());
  return std::nullopt;
}

}  // namespace

std::optional<std::string> PlanFiles::find(std::string_view key) const {
  if (directory_.empty()) return std::nullopt;
  const std::filesystem::path path = plan_file(directory_, key);
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  const std::string text = read_file(path);
  const std::string_view body = std::string_view(text).substr(std::min(kPlanFileHash, text.size()));
  const std::string start = plan_file_body(key, "");
  if (text.substr(0, kPlanFileHash) != plan_file_hash(body) || !body.starts_with(start))
    return refused_plan(path);
  return std::string(body.substr(start.size()));
}

void PlanFiles::keep(std::string_view key, std::string_view content) const {
  if (directory_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  ensure(!error, ErrorKind::invalid, "plan cache {}: cannot be made: {}", directory_.string(),
         error.message());
  const std::string body = plan_file_body(key, content);
  AtomicFile file(plan_file(directory_, key));
  file.write(plan_file_hash(body));
  file.write(body);
  file.commit();
}

}  // namespace parhelion::exec::cuda
