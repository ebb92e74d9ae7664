#pragma once

#include "contract/frontend.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::prepare {

/// The front end of a model with the files of its tokenizer, `tokenizer.json` among them, and its
/// chat template: special ids, formats of reasoning and calls, the template parsed and asked once.
///
/// Errors: invalid if there is no tokenizer.json; as text::load_tokenizer_json and
///         text::ChatTemplate, and of the template if it refuses one message of a user.
contract::Frontend make_frontend(std::vector<contract::Asset> files,
                                 const std::optional<std::string>& chat_template);

/// The tokenizer of a front end. Errors: invalid if it has none; unsupported for a format that this
/// build does not know; as text::load_tokenizer_json.
text::Tokenizer tokenizer_of(const contract::Frontend& frontend);

}  // namespace parhelion::prepare
