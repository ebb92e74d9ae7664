#include "train/track/tensorboard_tracker.h"

#include "base/error.h"
#include "base/setting.h"
#include "train/track/append_file.h"
#include "train/track/event_record.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace parhelion::train {
namespace {

constexpr std::string_view kEventPrefix = "events.out.tfevents.";

/// The number in the name of an event file, or -1.
std::int64_t event_file_number(const std::string& name) {
  if (!name.starts_with(kEventPrefix)) return -1;
  std::int64_t number = -1;
  std::from_chars(name.data() + kEventPrefix.size(), name.data() + name.size(), number);
  return number;
}

/// Readers take the files of a directory in the order of their names.
std::filesystem::path next_event_file(const std::filesystem::path& directory,
                                      std::chrono::system_clock::time_point now) {
  using std::chrono::seconds;
  std::int64_t number = std::chrono::duration_cast<seconds>(now.time_since_epoch()).count();
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    number = std::max(number, event_file_number(entry.path().filename().string()) + 1);
  }
  return directory / fmt::format("{}{:010}.parhelion", kEventPrefix, number);
}

/// Appends the leaves of `value` to a Markdown table.
void append_rows(const Json& value, const std::string& key, std::string& table) {
  if (!value.is_object()) {
    std::string text;
    for (const char c : write_json(value))
      text += c == '|' ? std::string("\\|") : std::string(1, c);
    table += fmt::format("| {} | {} |\n", key, text);
    return;
  }
  for (const auto& [name, member] : value.as_object(key)) {
    append_rows(member, setting_path(key, name), table);
  }
}

std::string job_table(const Json& job) {
  std::string table = "| key | value |\n|---|---|\n";
  append_rows(job, "", table);
  return table;
}

class TensorboardTracker final : public Tracker {
 public:
  explicit TensorboardTracker(const std::filesystem::path& file, const std::string& beginning)
      : file_(file) {
    file_.append(beginning);
  }
  void record(const StepRecord& record) override { file_.append(scalars_record(record)); }

 private:
  AppendFile file_;
};

}  // namespace

std::unique_ptr<Tracker> open_tensorboard_tracker(const std::filesystem::path& directory,
                                                  const Json& job, std::int64_t first_step,
                                                  std::chrono::system_clock::time_point now) {
  std::error_code code;
  std::filesystem::create_directories(directory, code);
  ensure(!code, ErrorKind::invalid, "{}: cannot make the directory: {}", directory.string(),
         code.message());
  std::string beginning = version_record(now) + session_start_record(now, first_step);
  if (first_step == 0) beginning += text_record(now, "job/text_summary", job_table(job));
  return std::make_unique<TensorboardTracker>(next_event_file(directory, now), beginning);
}

}  // namespace parhelion::train
