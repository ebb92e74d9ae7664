#pragma once

#include "base/json.h"

#include <string>
#include <string_view>
#include <variant>

namespace parhelion::train {

/// All of it is learnt.
struct TextRow {
  std::string text;
};

/// The completion is learnt, not the prompt.
struct CompletionRow {
  std::string prompt;
  std::string completion;
};

/// The assistant's turns are learnt.
struct ChatRow {
  Json::Array messages;  ///< not empty; each has a role, and a content or tool calls
  Json tools;            ///< for the chat template; null: none
};

using Row = std::variant<TextRow, CompletionRow, ChatRow>;

/// Reads a line of JSONL. Keys that no kind of row has are passed over.
///
/// Errors: corrupt if it is no JSON, else invalid if it is of none of these kinds, or of two.
Row parse_row(std::string_view line);

}  // namespace parhelion::train
