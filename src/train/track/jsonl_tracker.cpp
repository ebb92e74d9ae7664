#include "train/track/jsonl_tracker.h"

#include "base/counted.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "train/track/append_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace parhelion::train {
namespace {

constexpr std::string_view kLineBegin = R"({"step":)";

/// The step of a whole line that jsonl_line wrote.
std::optional<std::int64_t> step_of_line(std::string_view line) {
  if (!line.starts_with(kLineBegin) || !line.ends_with("}\n")) return std::nullopt;
  std::int64_t step = 0;
  const char* digits = line.data() + kLineBegin.size();
  const auto [end, code] = std::from_chars(digits, line.data() + line.size(), step);
  if (code != std::errc() || *end != ',') return std::nullopt;
  return step;
}

/// The lines of steps before `first_step`.
std::string lines_before(std::string_view text, std::int64_t first_step, std::string_view where) {
  std::string kept;
  std::int64_t broken_count = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    text.remove_prefix(line.size());
    const auto step = step_of_line(line);
    if (!step) ++broken_count;
    if (step.value_or(INT64_MAX) < first_step) kept += line;
  }
  if (broken_count > 0) {
    log(LogLevel::warning, "{}: removed {} that held no record", where,
        counted(broken_count, "line"));
  }
  return kept;
}

void remove_lines_from(const std::filesystem::path& file, std::int64_t first_step) {
  if (!std::filesystem::exists(file)) return;
  const std::string text = read_file(file);
  const std::string kept = lines_before(text, first_step, file.string());
  if (kept.size() == text.size()) return;
  AtomicFile shorter(file);
  shorter.write(kept);
  shorter.commit();
}

class JsonlTracker final : public Tracker {
 public:
  explicit JsonlTracker(const std::filesystem::path& file) : file_(file) {}
  void record(const StepRecord& record) override { file_.append(jsonl_line(record) + "\n"); }

 private:
  AppendFile file_;
};

}  // namespace

std::string jsonl_line(const StepRecord& record) {
  Json::Object line = {{"step", record.step}, {"time", unix_seconds(record.time)}};
  Json::Array nonfinite;
  for (const Metric& metric : record.metrics) {
    const bool is_finite = std::isfinite(metric.value);
    line.emplace_back(metric.name, is_finite ? Json(metric.value) : Json());
    if (!is_finite) nonfinite.emplace_back(metric.name);
  }
  if (!nonfinite.empty()) line.emplace_back("nonfinite", nonfinite);
  return write_json(line);
}

std::unique_ptr<Tracker> open_jsonl_tracker(const std::filesystem::path& file,
                                            std::int64_t first_step) {
  remove_lines_from(file, first_step);
  return std::make_unique<JsonlTracker>(file);
}

}  // namespace parhelion::train
