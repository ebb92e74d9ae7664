#include "text/prompt_text.h"

#include "base/error.h"
#include "text/tokenizer_model.h"
#include "text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace parhelion::text {
namespace {

/// A character that control tokens begin with, and the one that stands for it where a text has it.
struct Mark {
  std::string first;
  std::string mark = {};
  std::string escaped = {};  // the mark as JSON writes it in ASCII
};

std::string_view first_character(std::string_view text) {
  return text.substr(0, decode_valid(text.data()).bytes);
}

std::vector<std::string_view> control_tokens(const Tokenizer& tokenizer) {
  std::vector<std::string_view> tokens;
  for (const AddedTokenMatcher* matcher :
       {&tokenizer.model().raw_tokens, &tokenizer.model().normalized_tokens}) {
    for (const AddedToken& token : matcher->tokens())
      if (is_control(token)) tokens.push_back(token.content);
  }
  return tokens;
}

/// Calls `act` with every text within a value, names of members with them.
template <class Act>
void for_each_text(const Json& value, const Act& act) {
  if (value.is_string()) return act(value.as_string("text"));
  if (value.is_array()) {
    for (const Json& each : value.as_array("texts")) for_each_text(each, act);
  }
  if (!value.is_object()) return;
  for (const auto& [name, each] : value.as_object("texts")) {
    act(name);
    for_each_text(each, act);
  }
}

/// The value with `change` of every text.
template <class Change>
Json with_texts(const Json& value, const Change& change) {
  if (value.is_string()) return change(value.as_string("text"));
  if (value.is_array()) {
    Json::Array made;
    for (const Json& each : value.as_array("texts")) made.push_back(with_texts(each, change));
    return made;
  }
  if (!value.is_object()) return value;
  Json::Object made;
  for (const auto& [name, each] : value.as_object("texts"))
    made.emplace_back(change(name), with_texts(each, change));
  return made;
}

constexpr char32_t kPrivateUse = 0xE000;
constexpr std::size_t kPrivateCount = 0xF900 - kPrivateUse;

/// The characters of private use that a text has, as they are or as JSON escapes them.
void note_private(std::string_view text, std::vector<bool>& used) {
  const auto note = [&](std::uint32_t point) {
    if (point >= kPrivateUse && point - kPrivateUse < used.size()) used[point - kPrivateUse] = true;
  };
  text = text.substr(0, find_invalid_utf8(text));
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_valid(text.data() + at);
    note(static_cast<std::uint32_t>(point.value));
    if (text.substr(at, 2) == "\\u" && text.size() - at >= 6) {
      std::uint32_t escaped = 0;
      const char* digits = text.data() + at + 2;
      if (std::from_chars(digits, digits + 4, escaped, 16).ptr == digits + 4) note(escaped);
    }
    at += point.bytes;
  }
}

/// Marks what was given to a template, and reads what it made of that.
class ControlMarks {
 public:
  explicit ControlMarks(const Tokenizer& tokenizer) : tokens_(control_tokens(tokenizer)) {
    for (const std::string_view token : tokens_) {
      const std::string_view first = first_character(token);
      is_first_byte_[static_cast<unsigned char>(first[0])] = true;
      if (std::ranges::none_of(marks_, [&](const Mark& each) { return each.first == first; }))
        marks_.push_back({.first = std::string(first)});
    }
  }

  bool are_needed(std::string_view text) const {
    return next_control(text, 0, text_end(text)) < text.size();
  }

  /// Chooses marks that stand in none of the texts. Errors: invalid if the texts leave none.
  void choose(const std::vector<std::string_view>& texts) {
    std::vector<bool> used(kPrivateCount);
    for (const std::string_view text : texts) note_private(text, used);
    std::size_t next = 0;
    for (Mark& each : marks_) {
      while (next < used.size() && used[next]) ++next;
      ensure(next < used.size(), ErrorKind::invalid,
             "chat template: the texts have every character of the private use area");
      const auto point = static_cast<char32_t>(kPrivateUse + next++);
      append_utf8(point, each.mark);
      each.escaped = fmt::format("\\u{:04x}", static_cast<std::uint32_t>(point));
    }
  }

  std::string mark(const std::string& text) const {
    const std::size_t end = text_end(text);
    std::string made;
    std::size_t done = 0;
    for (std::size_t at = next_control(text, 0, end); at < text.size();
         at = next_control(text, at + 1, end)) {
      const Mark& found = mark_of(std::string_view(text).substr(at));
      made.append(text, done, at - done).append(found.mark);
      done = at + found.first.size();
    }
    return made.append(text, done);
  }

  PromptText read(std::string_view rendered) const {
    PromptText prompt;
    for (std::size_t at = 0; at < rendered.size();) {
      std::size_t bytes = 0;
      const Mark* found = find_mark(rendered.substr(at), bytes);
      if (found == nullptr) {
        prompt.text += rendered[at++];
        continue;
      }
      prompt.plain_at.push_back(prompt.text.size());
      prompt.text += found->first;
      at += bytes;
    }
    return prompt;
  }

 private:
  const Mark& mark_of(std::string_view text) const {
    return *std::ranges::find_if(marks_,
                                 [&](const Mark& each) { return text.starts_with(each.first); });
  }

  /// The mark that a text begins with, raw or escaped, and its length.
  const Mark* find_mark(std::string_view text, std::size_t& bytes) const {
    const bool may_be = text[0] == '\\' || static_cast<unsigned char>(text[0]) >= 0xEE;
    if (!may_be) return nullptr;
    for (const Mark& each : marks_) {
      for (const std::string* form : {&each.mark, &each.escaped}) {
        if (!text.starts_with(*form)) continue;
        bytes = form->size();
        return &each;
      }
    }
    return nullptr;
  }

  /// Where a text ends for templates, which trim.
  static std::size_t text_end(std::string_view text) {
    return text.find_last_not_of(" \t\r\n") + 1;
  }

  /// Where, from `at` on, a control token is written, or the text ends within one at `end`.
  std::size_t next_control(std::string_view text, std::size_t at, std::size_t end) const {
    for (; at < text.size(); ++at) {
      if (!is_first_byte_[static_cast<unsigned char>(text[at])]) continue;
      const std::string_view rest = text.substr(at);
      const std::string_view last = at < end ? text.substr(at, end - at) : std::string_view();
      const auto begins = [&](std::string_view token) {
        return rest.starts_with(token) || (!last.empty() && token.starts_with(last));
      };
      if (std::ranges::any_of(tokens_, begins)) break;
    }
    return at;
  }

  std::vector<std::string_view> tokens_;
  std::vector<Mark> marks_;
  std::array<bool, 256> is_first_byte_{};
};

}  // namespace

PromptText render_prompt(const ChatTemplate& chat, const Tokenizer& tokenizer, const Json& messages,
                         const ChatOptions& options) {
  ControlMarks marks(tokenizer);
  std::vector<std::string_view> texts;
  const auto note = [&](const std::string& text) { texts.push_back(text); };
  for (const Json* given : {&messages, &options.tools, &options.variables})
    for_each_text(*given, note);
  const auto needs_mark = [&](std::string_view text) { return marks.are_needed(text); };
  if (std::ranges::none_of(texts, needs_mark)) return {.text = chat.render(messages, options)};
  marks.choose(texts);
  const auto mark = [&](const std::string& text) { return marks.mark(text); };
  ChatOptions marked = options;
  marked.tools = with_texts(options.tools, mark);
  marked.variables = with_texts(options.variables, mark);
  return marks.read(chat.render(with_texts(messages, mark), marked));
}

}  // namespace parhelion::text
