#include "text/added_tokens.h"

#include "text/unicode.h"

#include <algorithm>
#include <utility>

namespace parhelion::text {
namespace {

/// The first byte of the character that ends before `end`.
std::size_t character_before(std::string_view text, std::size_t end) {
  do --end;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  return end;
}

bool is_word_before(std::string_view text, std::size_t end) {
  if (end == 0) return false;
  return (flags_at(text.data() + character_before(text, end)).flags & unicode::kWord) != 0;
}

bool is_word_behind(std::string_view text, std::size_t at) {
  return at != text.size() && (flags_at(text.data() + at).flags & unicode::kWord) != 0;
}

/// Where the white space that ends at `end` begins, but not before `limit`.
std::size_t spaces_begin(std::string_view text, std::size_t end, std::size_t limit) {
  while (end > limit) {
    const std::size_t before = character_before(text, end);
    if ((flags_at(text.data() + before).flags & unicode::kSpace) == 0) break;
    end = before;
  }
  return end;
}

std::size_t spaces_end(std::string_view text, std::size_t at) {
  while (at != text.size()) {
    const FlagsAt here = flags_at(text.data() + at);
    if ((here.flags & unicode::kSpace) == 0) break;
    at += here.bytes;
  }
  return at;
}

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::erase_if(tokens_, [](const AddedToken& token) { return token.content.empty(); });
  nodes_.emplace_back();
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    is_first_byte_[static_cast<unsigned char>(tokens_[i].content[0])] = true;
    insert(static_cast<std::int32_t>(i));
  }
}

std::int32_t AddedTokenMatcher::find_child(std::int32_t node, char byte) const {
  std::int32_t child = nodes_[static_cast<std::size_t>(node)].first_child;
  while (child >= 0 && nodes_[static_cast<std::size_t>(child)].byte != byte) {
    child = nodes_[static_cast<std::size_t>(child)].next_sibling;
  }
  return child;
}

void AddedTokenMatcher::insert(std::int32_t token) {
  std::int32_t node = 0;
  for (const char byte : tokens_[static_cast<std::size_t>(token)].content) {
    std::int32_t child = find_child(node, byte);
    if (child < 0) {
      child = static_cast<std::int32_t>(nodes_.size());
      nodes_.push_back(
          {.next_sibling = nodes_[static_cast<std::size_t>(node)].first_child, .byte = byte});
      nodes_[static_cast<std::size_t>(node)].first_child = child;
    }
    node = child;
  }
  nodes_[static_cast<std::size_t>(node)].token = token;
}

const AddedToken* AddedTokenMatcher::match_at(std::string_view text, std::size_t at) const {
  const AddedToken* longest = nullptr;
  std::int32_t node = 0;
  for (; at != text.size(); ++at) {
    node = find_child(node, text[at]);
    if (node < 0) break;
    const std::int32_t token = nodes_[static_cast<std::size_t>(node)].token;
    if (token >= 0) longest = &tokens_[static_cast<std::size_t>(token)];
  }
  return longest;
}

std::size_t AddedTokenMatcher::find_first_byte(std::string_view text, std::size_t at) const {
  while (at < text.size() && !is_first_byte_[static_cast<unsigned char>(text[at])]) ++at;
  return at;
}

void AddedTokenMatcher::cut(std::string_view text, SpecialText special_text,
                            std::span<const std::size_t> plain_at,
                            std::vector<TextPart>& parts) const {
  std::size_t done = 0;
  for (std::size_t at = find_first_byte(text, 0); at < text.size();
       at = find_first_byte(text, at)) {
    const AddedToken* token = match_at(text, at);
    if (token == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at;
    std::size_t end = at + token->content.size();
    at = end;
    if (special_text == SpecialText::plain && token->special) continue;
    if (is_control(*token) && std::ranges::binary_search(plain_at, begin)) continue;
    if (token->single_word && (is_word_before(text, begin) || is_word_behind(text, end))) continue;
    if (token->strips_left) begin = spaces_begin(text, begin, std::min(done, begin));
    if (token->strips_right) end = spaces_end(text, end);
    if (done < begin) parts.push_back({text.substr(done, begin - done)});
    parts.push_back({text.substr(begin, end - begin), token->id});
    done = end;
  }
  if (done < text.size()) parts.push_back({text.substr(done)});
}

}  // namespace parhelion::text
