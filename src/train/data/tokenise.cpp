#include "train/data/tokenise.h"

#include "base/error.h"
#include "train/data/chat.h"

#include <algorithm>

namespace parhelion::train {
namespace {

std::int64_t token_count(const TokenisedRow& row) { return std::ssize(row.ids); }

/// Generation ends with the EOS, so what the template writes behind it is not learnt.
TokenRange learnt_of_answer(const TokenisedRow& row, std::int64_t begin,
                            std::optional<text::TokenId> eos) {
  const auto first = row.ids.rend() - begin;
  const auto last = eos ? std::find(row.ids.rbegin(), first, *eos) : first;
  return {begin, last == first ? token_count(row) : row.ids.rend() - last};
}

}  // namespace

RowTokeniser::RowTokeniser(const TokenRules& rules) : rules_(rules), encoder_(rules.tokenizer) {}

TokenisedRow RowTokeniser::tokenise(const Row& row) {
  if (const auto* text = std::get_if<TextRow>(&row)) return tokenise_text(text->text);
  if (const auto* chat = std::get_if<ChatRow>(&row)) return tokenise_chat(*chat);
  return tokenise_completion(std::get<CompletionRow>(row));
}

TokenisedRow RowTokeniser::tokenise(const RawRow& row) {
  return row.format == DataFormat::text ? tokenise_text(row.bytes) : tokenise(parse_row(row.bytes));
}

TokenisedRow RowTokeniser::tokenise_text(std::string_view text) {
  TokenisedRow row;
  if (text.empty()) return row;
  encode_first(text, row);
  end_with_eos(row);
  row.learnt = {{0, token_count(row)}};
  return row;
}

TokenisedRow RowTokeniser::tokenise_completion(const CompletionRow& completion) {
  TokenisedRow row;
  encode_first(completion.prompt, row);
  const std::int64_t begin = token_count(row);
  encode_next(completion.completion, row);
  end_with_eos(row);
  row.learnt = {{begin, token_count(row)}};
  return row;
}

TokenisedRow RowTokeniser::tokenise_chat(const ChatRow& chat) {
  TokenisedRow row;
  for (const ChatExchange& exchange :
       cut_chat(chat_template(), chat, text::chat_options(rules_.tokenizer))) {
    if (row.ids.empty()) {
      encode_first(exchange.before, row);
    } else {
      encode_next(exchange.before, row);
    }
    const std::int64_t begin = token_count(row);
    encode_next(exchange.answer, row);
    row.learnt.push_back(learnt_of_answer(row, begin, rules_.eos));
  }
  return row;
}

void RowTokeniser::encode_first(std::string_view text, TokenisedRow& row) {
  const bool adds_bos = rules_.tokenizer.adds_bos();
  encoder_.encode(text, {.frame = adds_bos ? text::Frame::bos : text::Frame::none}, row.ids);
}

void RowTokeniser::encode_next(std::string_view text, TokenisedRow& row) {
  encoder_.encode(text, {}, row.ids);
}

void RowTokeniser::end_with_eos(TokenisedRow& row) const {
  if (rules_.eos) row.ids.push_back(*rules_.eos);
}

const text::ChatTemplate& RowTokeniser::chat_template() {
  ensure(rules_.chat_template.has_value(), ErrorKind::invalid,
         "messages: the model has no chat template, expected text, or prompt and completion");
  if (!chat_template_) chat_template_.emplace(*rules_.chat_template);
  return *chat_template_;
}

}  // namespace parhelion::train
