#pragma once

#include "contract/frontend.h"
#include "contract/origin.h"

#include <filesystem>

namespace parhelion::app {

/// The front end of a model's core: its tokenizer, written as `tokenizer.json` for a GGUF file, and
/// its chat template.
///
/// Errors: as tokenizer_files, load_chat_template and prepare::make_frontend.
contract::Frontend read_frontend(const std::filesystem::path& model);

/// Which files a model, and its adapter if there is one, are made of, with their hashes; the names
/// alone, so that it does not matter where they lie.
///
/// Errors: invalid if a file cannot be read.
contract::Provenance read_provenance(const std::filesystem::path& model,
                                     const std::filesystem::path& adapter);

}  // namespace parhelion::app
