#include "train/data/report.h"

#include "base/counted.h"
#include "base/error.h"

#include <fmt/format.h>

#include <utility>

namespace parhelion::train {
namespace {

constexpr std::size_t kNotedRows = 10;

const Json& member_of_report(const Json& json, std::string_view key) {
  const Json* found = json.find(key);
  ensure(found != nullptr, ErrorKind::invalid, "data report: has no {}", key);
  return *found;
}

std::int64_t count_of_report(const Json& json, std::string_view key) {
  const std::int64_t count = member_of_report(json, key).as_int64(key);
  ensure(count >= 0, ErrorKind::invalid, "data report: {} is {}, expected at least 0", key, count);
  return count;
}

}  // namespace

void note_skipped(DataReport& report, SkippedRow row) {
  if (report.skipped.size() < kNotedRows) report.skipped.push_back(std::move(row));
}

std::string describe(const Origin& origin, std::span<const std::filesystem::path> files) {
  const auto& file = files[static_cast<std::size_t>(origin.file)];
  return origin.line == 0 ? file.string() : fmt::format("{}:{}", file.string(), origin.line);
}

std::string describe(const DataReport& report, std::span<const std::filesystem::path> files) {
  std::string text = fmt::format("{}, {}, {} of them learnt", counted(report.documents, "document"),
                                 counted(report.tokens, "token"), report.learnt_tokens);
  if (report.broken > 0) text += fmt::format("; {} skipped", counted(report.broken, "broken row"));
  if (report.nothing_to_learn > 0) {
    text +=
        fmt::format("; {} with nothing to learn skipped", counted(report.nothing_to_learn, "row"));
  }
  for (const SkippedRow& row : report.skipped) {
    text += fmt::format("\n  {}: {}", describe(row.origin, files), row.reason);
  }
  return text;
}

Json as_json(const DataReport& report) {
  Json::Array skipped;
  for (const SkippedRow& row : report.skipped) {
    skipped.push_back(
        Json::Object{{"file", row.origin.file}, {"line", row.origin.line}, {"reason", row.reason}});
  }
  return Json::Object{{"documents", report.documents},
                      {"tokens", report.tokens},
                      {"learnt_tokens", report.learnt_tokens},
                      {"broken", report.broken},
                      {"nothing_to_learn", report.nothing_to_learn},
                      {"skipped", std::move(skipped)}};
}

DataReport read_data_report(const Json& json) {
  DataReport report{.documents = count_of_report(json, "documents"),
                    .tokens = count_of_report(json, "tokens"),
                    .learnt_tokens = count_of_report(json, "learnt_tokens"),
                    .broken = count_of_report(json, "broken"),
                    .nothing_to_learn = count_of_report(json, "nothing_to_learn"),
                    .skipped = {}};
  for (const Json& row : member_of_report(json, "skipped").as_array("skipped")) {
    report.skipped.push_back({{count_of_report(row, "file"), count_of_report(row, "line")},
                              member_of_report(row, "reason").as_string("reason")});
  }
  return report;
}

}  // namespace parhelion::train
