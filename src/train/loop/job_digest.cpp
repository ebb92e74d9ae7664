#include "train/loop/job_digest.h"

#include "base/hash.h"
#include "base/write_settings.h"

namespace parhelion::train {

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

}  // namespace parhelion::train
