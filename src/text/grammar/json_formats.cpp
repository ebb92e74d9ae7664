#include "text/grammar/json_formats.h"

#include <fmt/format.h>

namespace parhelion::text {
namespace {

std::string date_pattern() {
  const std::string year = "[0-9]{4}";
  // Years with a 29th of February: those that four divides, of whole hundreds those that 400 does.
  const std::string fourth = "(0[48]|[2468][048]|[13579][26])";
  const std::string leap = fmt::format("([0-9]{{2}}{0}|({0}|00)00)", fourth);
  const std::string long_month = "(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])";
  const std::string short_month = "(0[469]|11)-(0[1-9]|[12][0-9]|30)";
  const std::string february = "02-(0[1-9]|1[0-9]|2[0-8])";
  return fmt::format("({}-({}|{}|{})|{}-02-29)", year, long_month, short_month, february, leap);
}

std::string time_pattern() {
  const std::string minutes = "([01][0-9]|2[0-3]):[0-5][0-9]";
  return fmt::format("{0}:[0-5][0-9](\\.[0-9]{{1,9}})?(Z|[+-]{0})", minutes);
}

std::string duration_pattern() {
  const std::string count = "[0-9]{1,9}";
  const std::string day = count + "D";
  const std::string month = fmt::format("{}M({})?", count, day);
  const std::string year = fmt::format("{}Y({})?", count, month);
  const std::string second = count + "S";
  const std::string minute = fmt::format("{}M({})?", count, second);
  const std::string hour = fmt::format("{}H({})?", count, minute);
  const std::string time = fmt::format("T({}|{}|{})", hour, minute, second);
  return fmt::format("P(({}|{}|{})({})?|{}|{}W)", year, month, day, time, time, count);
}

std::string ipv4_pattern() {
  const std::string octet = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
  return fmt::format("{0}(\\.{0}){{3}}", octet);
}

std::string ipv6_pattern() {
  const std::string group = "[0-9a-fA-F]{1,4}";
  std::string pattern = fmt::format("(({0}:){{7}}{0}|({0}:){{1,7}}:|:(:{0}){{1,7}}|::", group);
  for (int before = 1; before <= 6; ++before) {
    pattern += fmt::format("|({0}:){{{1}}}(:{0}){{1,{2}}}", group, before, 7 - before);
  }
  return pattern + ")";
}

std::string hostname_pattern() {
  const std::string label = "[0-9A-Za-z]([0-9A-Za-z-]{0,61}[0-9A-Za-z])?";
  return fmt::format("{0}(\\.{0}){{0,3}}", label);
}

std::string email_pattern() {
  const std::string atom = "[0-9A-Za-z!#$%&'*+/=?^_`{|}~-]+";
  const std::string label = "[0-9A-Za-z]+(-[0-9A-Za-z]+)*";
  return fmt::format("{0}(\\.{0})*@{1}(\\.{1})+", atom, label);
}

std::string uri_pattern() {
  const std::string path = "([0-9A-Za-z._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})";
  return fmt::format(
      "[A-Za-z][0-9A-Za-z+.-]*://[0-9A-Za-z.-]+(:[0-9]{{1,5}})?(/{0}*)*(\\?({0}|[/?])*)?(#({0}|[/"
      "?])*)?",
      path);
}

}  // namespace

std::optional<std::string> format_pattern(std::string_view format) {
  if (format == "date") return date_pattern();
  if (format == "time") return time_pattern();
  if (format == "date-time") return date_pattern() + "T" + time_pattern();
  if (format == "duration") return duration_pattern();
  if (format == "ipv4") return ipv4_pattern();
  if (format == "ipv6") return ipv6_pattern();
  if (format == "hostname") return hostname_pattern();
  if (format == "email") return email_pattern();
  if (format == "uri") return uri_pattern();
  if (format == "uuid") return "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";
  return std::nullopt;
}

}  // namespace parhelion::text
