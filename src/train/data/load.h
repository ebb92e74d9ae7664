#pragma once

#include "train/config/data_settings.h"
#include "train/data/documents.h"
#include "train/data/tokenise.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

namespace parhelion::train {

/// How far the reading of data files is.
struct DataProgress {
  std::int64_t documents = 0;
  std::int64_t tokens = 0;
  std::int64_t bytes = 0;
  std::int64_t total_bytes = 0;
};

/// Which documents to read, and how.
struct DataRequest {
  std::vector<std::filesystem::path> files;
  DataFormat format = DataFormat::automatic;
  OnError on_error = OnError::stop;
  std::filesystem::path cache;         ///< a directory; made if something is written there
  std::filesystem::path scratch = {};  ///< if not empty: a directory for what the cache lacks
  int threads = 0;                     ///< 0 = as many as the machine has
  std::function<void(const DataProgress&)> progress = {};  ///< called between rounds; may throw
};

/// The documents of data files. Their tokens are kept in `<cache>/<key>.tokens`, where the key is a
/// hash of the files' contents and of all else that decides about tokens; a file of that name which
/// is not sound is made again, with a warning.
///
/// Errors: invalid if a file cannot be read, if a row is broken and `on_error` stops (naming file
/// and
///         line), if a token is outside the model's vocabulary, or if there is nothing to learn;
///         exhausted if the disk is full.
Documents load_documents(const DataRequest& request, const TokenRules& rules);

}  // namespace parhelion::train
