#include "prepare/frontend.h"

#include "base/error.h"
#include "text/reply/reply_format.h"

#include <algorithm>
#include <utility>

namespace parhelion::prepare {
namespace {

constexpr std::string_view kTokenizerFile = "tokenizer.json";
constexpr std::string_view kTokenizerConfig = "tokenizer_config.json";

void take_special_ids(const text::Tokenizer& tokenizer, contract::Frontend& frontend) {
  const text::SpecialIds& ids = tokenizer.special_ids();
  frontend.bos_id = ids.bos;
  frontend.pad_id = ids.pad;
  frontend.unknown_id = ids.unk;
  frontend.add_bos = tokenizer.adds_bos() && ids.bos.has_value();
  const auto end = static_cast<text::TokenId>(tokenizer.vocabulary_size());
  for (text::TokenId id = 0; id < end; ++id)
    if (tokenizer.contains(id) && tokenizer.is_special(id)) frontend.special_ids.push_back(id);
}

/// A template that cannot frame one message is of no use to a server.
void check_template(const std::string& source, const text::Tokenizer& tokenizer) {
  const text::ChatTemplate chat(source);
  const Json messages = Json::Array{Json::Object{{"role", "user"}, {"content", "Hello"}}};
  const std::string prompt = chat.render(messages, text::prompt_options(tokenizer));
  ensure(!prompt.empty(), ErrorKind::invalid,
         "chat template: makes nothing of a user's message, expected a prompt");
}

void take_template(const std::string& source, const text::Tokenizer& tokenizer,
                   contract::Frontend& frontend) {
  check_template(source, tokenizer);
  const text::ReplyFormat format = text::detect_reply_format(source);
  frontend.chat_template = source;
  if (format.reasoning) frontend.reasoning_format = format.reasoning->name;
  if (format.tools) frontend.tool_format = format.tools->name;
}

}  // namespace

contract::Frontend make_frontend(std::vector<contract::Asset> files,
                                 const std::optional<std::string>& chat_template) {
  contract::Frontend frontend;
  for (contract::Asset& file : files) {
    if (file.name != kTokenizerFile) {
      frontend.assets.push_back(std::move(file));
      continue;
    }
    frontend.tokenizer_format = kTokenizerFile;
    frontend.tokenizer = std::move(file.bytes);
  }
  ensure(!frontend.tokenizer.empty(), ErrorKind::invalid, "the model has no {}, expected one",
         kTokenizerFile);
  const text::Tokenizer tokenizer = tokenizer_of(frontend);
  take_special_ids(tokenizer, frontend);
  if (chat_template) take_template(*chat_template, tokenizer, frontend);
  return frontend;
}

text::Tokenizer tokenizer_of(const contract::Frontend& frontend) {
  ensure(!frontend.tokenizer_format.empty(), ErrorKind::invalid,
         "the core has no tokenizer, expected one");
  ensure(frontend.tokenizer_format == kTokenizerFile, ErrorKind::unsupported,
         "the core's tokenizer is of format '{}', expected {}", frontend.tokenizer_format,
         kTokenizerFile);
  const auto config = std::ranges::find(frontend.assets, kTokenizerConfig, &contract::Asset::name);
  return text::load_tokenizer_json(frontend.tokenizer, config == frontend.assets.end()
                                                           ? std::string_view()
                                                           : std::string_view(config->bytes));
}

}  // namespace parhelion::prepare
