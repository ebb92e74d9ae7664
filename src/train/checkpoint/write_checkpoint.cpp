#include "train/checkpoint/write_checkpoint.h"

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "model/mapping.h"
#include "train/checkpoint/checkpoint_directory.h"

#include <algorithm>

namespace parhelion::train {
namespace {

namespace fs = std::filesystem;

void write_tensors(const fs::path& directory, std::string_view stem, std::int64_t shard_bytes,
                   const std::vector<state::TensorView>& tensors) {
  state::SafetensorsWriter writer(directory, shard_bytes, stem);
  for (const state::TensorView& tensor : tensors) writer.add(tensor);
  writer.finish();
}

void write_checkpoint_text(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void write_model_file(const fs::path& directory, const ModelFile& file) {
  ensure(is_plain_file_name(file.name) && file.name != kManifestName, ErrorKind::invalid,
         "'{}' is no name of a file beside a checkpoint's tensors", file.name);
  write_checkpoint_text(directory / file.name, file.text);
}

std::vector<FileRecord> record_files(const fs::path& directory) {
  std::vector<FileRecord> records;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    const MappedFile file(entry.path());
    records.push_back({.name = entry.path().filename().string(),
                       .bytes = std::ssize(file.bytes()),
                       .xxh128 = hex(hash128(file.bytes()))});
  }
  std::ranges::sort(records, {}, &FileRecord::name);
  return records;
}

std::int64_t recorded_bytes(const std::vector<FileRecord>& files) {
  std::int64_t bytes = 0;
  for (const FileRecord& file : files) bytes += file.bytes;
  return bytes;
}

}  // namespace

WrittenCheckpoint write_checkpoint(const CheckpointContent& content, const CheckpointStore& store) {
  const fs::path final_path = store.directory / checkpoint_name(content.facts.step);
  const TemporaryDirectory unfinished(unfinished_path(final_path));
  const fs::path& path = unfinished.path();
  write_tensors(path, model::kParametersStem, store.shard_bytes, content.parameters);
  write_tensors(path, kOptimizerStem, store.shard_bytes, content.optimizer);
  for (const ModelFile& file : store.model_files) write_model_file(path, file);
  const Manifest manifest{.facts = content.facts, .files = record_files(path)};
  write_checkpoint_text(path / kManifestName, manifest_text(manifest));
  publish_checkpoint(final_path);
  return {.directory = final_path, .bytes = recorded_bytes(manifest.files)};
}

}  // namespace parhelion::train
