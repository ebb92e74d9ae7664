#include "train/data/documents.h"

#include "base/error.h"

#include <utility>

namespace parhelion::train {

Documents::Documents(const std::filesystem::path& path, const std::string& key,
                     std::int64_t vocabulary, std::vector<std::filesystem::path> files)
    : file_(path), view_(parse_token_file(file_.bytes(), path.string())), files_(std::move(files)) {
  ensure(view_.key == key, ErrorKind::corrupt, "{}: has key {}, expected {}", path.string(),
         view_.key, key);
  ensure(view_.file_documents.size() == files_.size(), ErrorKind::corrupt,
         "{}: is made from {} files, expected {}", path.string(), view_.file_documents.size(),
         files_.size());
  check_token_file(file_.bytes(), view_, vocabulary, path.string());
}

std::string Documents::where(std::int64_t document) const {
  std::int64_t file = 0;
  std::int64_t end = view_.file_documents.front();
  while (document >= end) end += view_.file_documents[static_cast<std::size_t>(++file)];
  const std::uint64_t line = view_.lines[static_cast<std::size_t>(document)];
  return describe(Origin{file, static_cast<std::int64_t>(line)}, files_);
}

}  // namespace parhelion::train
