#include "app/prepare_source.h"

#include "app/model_files.h"
#include "app/tokenizer_files.h"
#include "base/file.h"
#include "base/hash.h"
#include "contract/core_writer.h"
#include "prepare/frontend.h"

#include <algorithm>
#include <array>
#include <set>

namespace parhelion::app {
namespace {

namespace fs = std::filesystem;

/// The files of a directory that a model may be read from.
std::set<fs::path> source_paths(const fs::path& model) {
  if (!fs::is_directory(model)) return {model};
  static constexpr std::array<std::string_view, 5> kRead = {".json", ".safetensors", ".jinja",
                                                            ".txt", ".model"};
  std::set<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(model)) {
    const std::string ending = entry.path().extension().string();
    if (entry.is_regular_file() && std::ranges::find(kRead, ending) != kRead.end())
      paths.insert(entry.path());
  }
  return paths;
}

void add_source_files(const fs::path& model, const std::string& before,
                      std::vector<contract::SourceFile>& files) {
  for (const fs::path& path : source_paths(model))
    files.push_back({.name = before + path.filename().string(),
                     .digest = "xxh128:" + hex(hash128(MappedFile(path).bytes()))});
}

/// The last part of a path, whether or not it ends with a slash.
std::string last_part(const fs::path& path) {
  return fs::weakly_canonical(path).filename().string();
}

}  // namespace

contract::Frontend read_frontend(const fs::path& model) {
  std::vector<contract::Asset> files;
  for (train::ModelFile& file : tokenizer_files(model))
    files.push_back({.name = std::move(file.name), .bytes = std::move(file.text)});
  return prepare::make_frontend(std::move(files), load_chat_template(model));
}

contract::Provenance read_provenance(const fs::path& model, const fs::path& adapter) {
  contract::Provenance provenance{.source = last_part(model)};
  add_source_files(model, "", provenance.files);
  if (!adapter.empty()) add_source_files(adapter, "adapter/", provenance.files);
  provenance.libraries = contract::library_versions();
  return provenance;
}

}  // namespace parhelion::app
