#pragma once

#include "app/http/fields.h"
#include "app/http/response_store.h"
#include "base/json.h"

#include <string_view>

namespace parhelion::app {

/// The field `input` of a request of OpenAI's responses; a text is a list of one message.
///
/// Errors: 400 `invalid_messages` if it is neither a text nor a list of at least one item.
Json::Array input_items(Fields& fields);

/// Appends the messages that items are, as templates take them. `name` is the list's, for errors.
///
/// Errors: 400 that names the item.
void add_items(const Json::Array& items, std::string_view name, Json::Array& messages);

/// Items that were read by add_items as clients are told of them: each with id, type and status,
/// content in parts. The ids follow from that of the response.
Json::Array full_items(const Json::Array& items, std::string_view response_id);

/// Items of a conversation up to the end of its `last` response, the oldest first; none without.
Json::Array conversation_items(const StoredResponse* last);

}  // namespace parhelion::app
