#pragma once

#include "base/error.h"
#include "text/chat_template.h"

#include <ctime>
#include <string>

namespace parhelion::text {

/// 7 March 2026, 9:05:02, as tests/golden/chat_template.py has it.
inline std::tm golden_time() {
  std::tm time{};
  time.tm_year = 126;
  time.tm_mon = 2;
  time.tm_mday = 7;
  time.tm_wday = 6;
  time.tm_yday = 65;
  time.tm_hour = 9;
  time.tm_min = 5;
  time.tm_sec = 2;
  return time;
}

/// The options of a rendering as golden data has them.
inline ChatOptions read_golden_options(const Json& json) {
  ChatOptions options{.now = golden_time()};
  if (const Json* flag = json.find("add_generation_prompt")) {
    options.add_generation_prompt = flag->as_bool("flag");
  }
  if (const Json* bos = json.find("bos_token")) options.bos_token = bos->as_string("bos");
  if (const Json* eos = json.find("eos_token")) options.eos_token = eos->as_string("eos");
  if (const Json* tools = json.find("tools")) options.tools = *tools;
  if (const Json* variables = json.find("variables")) options.variables = *variables;
  return options;
}

}  // namespace parhelion::text
