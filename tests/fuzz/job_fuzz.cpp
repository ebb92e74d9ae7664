// A job that is read is written as one which reads back equal; any other text is invalid.
#include "base/error.h"
#include "base/toml.h"
#include "fuzz/fuzz.h"
#include "train/config/job.h"

#include <cstdlib>
#include <optional>
#include <string_view>

namespace {

using parhelion::train::Job;

std::optional<Job> read_or_refuse(std::string_view text) try {
  return parhelion::train::read_job(parhelion::parse_toml(text, "fuzz"), "/jobs", "fuzz");
} catch (const parhelion::Error& error) {
  if (error.kind() != parhelion::ErrorKind::invalid) throw;
  return std::nullopt;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto job = read_or_refuse({reinterpret_cast<const char*>(data), size});
  if (!job) return 0;
  const parhelion::Json written = write_job(*job);
  const std::string text = write_json(written);
  if (parhelion::train::read_job(written, "/", "written") != *job) std::abort();
  if (parhelion::train::read_job(parhelion::parse_json(text, "text"), "/", "text") != *job) {
    std::abort();
  }
  return 0;
}
