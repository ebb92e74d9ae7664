#include "text/reply/reply_reader.h"

#include <utility>

namespace parhelion::text {
namespace {

std::vector<std::string> encode_stops(const MarkerCodes& codes, std::vector<std::string> stops) {
  for (std::string& stop : stops) stop = codes.encode(std::move(stop));
  return stops;
}

}  // namespace

ReplyReader::ReplyReader(const Tokenizer& tokenizer, ReplyOptions options)
    : codes_(tokenizer, options.format, options.special_tokens),
      detokenizer_(tokenizer, options.special_tokens, UnknownIds::replace),
      answer_stops_(encode_stops(codes_, options.stops), options.stop_text),
      reasoning_stops_(options.stop_scope == StopScope::everywhere
                           ? encode_stops(codes_, options.stops)
                           : std::vector<std::string>{},
                       options.stop_text) {
  ReplyFormat format = codes_.encode(std::move(options.format));
  if (format.reasoning) splitter_.emplace(std::move(*format.reasoning), options.reasoning_start);
  if (format.tools) calls_.emplace(std::move(*format.tools), std::move(options.tools));
}

void ReplyReader::push(TokenId id, ReplyEvents& events) {
  if (stop()) return;
  const std::optional<char> code = codes_.find(id);
  if (!code) return take(detokenizer_.push(id), events);
  take(detokenizer_.flush() + *code, events);
}

void ReplyReader::finish(ReplyEvents& events) {
  if (!stop()) take(detokenizer_.flush(), events);
  ReplyEvents parts;
  if (splitter_ && !stop()) splitter_->finish(parts);
  pass(parts, events);
  add_text(events, ReplyPart::reasoning, codes_.decode(reasoning_stops_.flush()));
  pass_answer(answer_stops_.flush(), events);
  if (!calls_) return;
  ReplyEvents coded;
  calls_->finish(coded);
  tell(coded, events);
}

void ReplyReader::take(std::string_view piece, ReplyEvents& events) {
  if (piece.empty()) return;
  ReplyEvents parts;
  if (splitter_) {
    splitter_->push(piece, parts);
  } else {
    add_text(parts, ReplyPart::text, std::string(piece));
  }
  pass(parts, events);
}

/// Passes text through the stop strings and to the calls, and reasoning on.
void ReplyReader::pass(const ReplyEvents& parts, ReplyEvents& events) {
  for (const ReplyEvent& part : parts) {
    if (stop()) return;
    if (part.part == ReplyPart::reasoning) {
      pass_answer(answer_stops_.flush(), events);  // no stop string goes on behind reasoning
      add_text(events, ReplyPart::reasoning, codes_.decode(reasoning_stops_.push(part.text)));
      continue;
    }
    add_text(events, ReplyPart::reasoning, codes_.decode(reasoning_stops_.flush()));
    pass_answer(answer_stops_.push(part.text), events);
  }
}

void ReplyReader::pass_answer(const std::string& text, ReplyEvents& events) {
  if (!calls_) return add_text(events, ReplyPart::text, codes_.decode(text));
  ReplyEvents coded;
  calls_->push(text, coded);
  tell(coded, events);
}

void ReplyReader::tell(const ReplyEvents& coded, ReplyEvents& events) const {
  for (const ReplyEvent& event : coded) {
    const bool is_mark = event.part == ReplyPart::call || event.part == ReplyPart::call_end;
    if (is_mark) {
      events.push_back({event.part, codes_.decode(event.text), event.call});
    } else {
      add_text(events, event.part, codes_.decode(event.text), event.call);
    }
  }
}

std::optional<std::string> ReplyReader::stop() const {
  const std::string* coded = answer_stops_.matched();
  if (coded == nullptr) coded = reasoning_stops_.matched();
  return coded == nullptr ? std::nullopt : std::optional(codes_.decode(*coded));
}

bool ReplyReader::is_in_reasoning() const { return splitter_ && splitter_->is_in_reasoning(); }
std::int64_t ReplyReader::call_count() const { return calls_ ? calls_->call_count() : 0; }
std::int64_t ReplyReader::malformed_count() const { return calls_ ? calls_->malformed_count() : 0; }

}  // namespace parhelion::text
