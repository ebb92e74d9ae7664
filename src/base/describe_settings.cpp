#include "base/describe_settings.h"

namespace parhelion {
namespace {

std::string line_text(const SettingLine& line) {
  std::string text = line.name;
  if (!line.type.empty()) text += "  " + line.type;
  if (!line.presence.empty()) text += (line.type.empty() ? "  " : ", ") + line.presence;
  return fmt::format("{}: {}\n", text, line.meaning);
}

}  // namespace

std::string reference_text(const std::vector<SettingLine>& lines) {
  std::string text;
  for (const SettingLine& line : lines) {
    if (line.type.empty() && !text.empty()) text += '\n';
    text += line_text(line);
  }
  return text;
}

}  // namespace parhelion
