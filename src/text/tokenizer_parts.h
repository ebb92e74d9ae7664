#pragma once

#include "base/json.h"
#include "text/tokenizer_model.h"

#include <initializer_list>
#include <string_view>
#include <vector>

namespace parhelion::text {

/// Readers of the small components of a tokenizer.json. Each reports corrupt for a wrong form and
/// unsupported, by name, for what it does not know.

/// The stages of a `pre_tokenizer`.
std::vector<SplitStage> read_pre_tokenizer(const Json& json);

/// Whether a `normalizer` is NFC; the other choice is none.
bool reads_as_nfc(const Json& json);

/// Puts the tokens of a `post_processor` into `model`.
void read_post_processor(const Json& json, TokenizerModel& model);

/// Checks that a `decoder` is ByteLevel.
void check_decoder(const Json& json);

/// The list `added_tokens`.
std::vector<AddedToken> read_added_tokens(const Json& json);

/// Members of objects, as tokenizer.json writes them.
const Json& need_member(const Json& json, std::string_view key, std::string_view where);
std::string component_type(const Json& json, std::string_view where);
bool read_flag(const Json& json, std::string_view key, bool absent, std::string_view where);
const std::string& read_text(const Json& json, std::string_view where);
void check_members(const Json& json, std::initializer_list<std::string_view> known,
                   std::string_view where);

}  // namespace parhelion::text
