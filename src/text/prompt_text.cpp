#include "text/prompt_text.h"

#include "text/tokenizer_model.h"
#include "text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
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

/// Marks what was given to a template, and reads what it made of that.
class ControlMarks {
 public:
  explicit ControlMarks(const Tokenizer& tokenizer) : tokens_(control_tokens(tokenizer)) {
    for (const std::string_view token : tokens_) {
      const std::string_view first = first_character(token);
      if (std::ranges::none_of(marks_, [&](const Mark& each) { return each.first == first; }))
        marks_.push_back({.first = std::string(first)});
    }
  }

  bool are_needed(std::string_view text) const {
    for (std::size_t at = next_first(text, 0); at < text.size(); at = next_first(text, at + 1))
      if (may_begin(text, at)) return true;
    return false;
  }

  /// Chooses marks that stand in none of the texts.
  void choose(const std::vector<std::string_view>& texts) {
    constexpr char32_t kPrivateUse = 0xE000;
    char32_t next = kPrivateUse;
    const auto is_used = [&](const std::string& characters) {
      return std::ranges::any_of(texts, [&](std::string_view text) {
        return text.find(characters) != std::string_view::npos;
      });
    };
    for (Mark& each : marks_) {
      do {
        each.mark.clear();
        append_utf8(next, each.mark);
        each.escaped = fmt::format("\\u{:04x}", static_cast<std::uint32_t>(next));
        ++next;
      } while (is_used(each.mark) || is_used(each.escaped));
    }
  }

  std::string mark(const std::string& text) const {
    std::string made;
    std::size_t done = 0;
    for (std::size_t at = next_first(text, 0); at < text.size(); at = next_first(text, at + 1)) {
      if (!may_begin(text, at)) continue;
      const Mark& found = mark_of(std::string_view(text).substr(at));
      made.append(text, done, at - done).append(found.mark);
      done = at + found.first.size();
    }
    return made.append(text, done);
  }

  PromptText read(std::string_view rendered) const {
    PromptText prompt;
    while (!rendered.empty()) {
      const Mark* next = nullptr;
      std::size_t at = rendered.size();
      std::size_t size = 0;
      for (const Mark& each : marks_) {
        for (const std::string* form : {&each.mark, &each.escaped}) {
          const std::size_t found = rendered.substr(0, at).find(*form);
          if (found < at) at = found, next = &each, size = form->size();
        }
      }
      prompt.text += rendered.substr(0, at);
      rendered.remove_prefix(at + size);
      if (next == nullptr) break;
      prompt.plain_at.push_back(prompt.text.size());
      prompt.text += next->first;
    }
    return prompt;
  }

 private:
  const Mark& mark_of(std::string_view text) const {
    return *std::ranges::find_if(marks_,
                                 [&](const Mark& each) { return text.starts_with(each.first); });
  }

  std::size_t next_first(std::string_view text, std::size_t from) const {
    std::size_t next = std::string_view::npos;
    for (const Mark& each : marks_) next = std::min(next, text.find(each.first, from));
    return std::min(next, text.size());
  }

  /// Whether a control token is written at `at`, or the text ends within one. Templates trim texts.
  bool may_begin(std::string_view text, std::size_t at) const {
    const std::string_view rest = text.substr(at);
    const std::string_view trimmed = rest.substr(0, rest.find_last_not_of(" \t\r\n") + 1);
    return std::ranges::any_of(tokens_, [&](std::string_view token) {
      return rest.starts_with(token) || (!trimmed.empty() && token.starts_with(trimmed));
    });
  }

  std::vector<std::string_view> tokens_;
  std::vector<Mark> marks_;
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
