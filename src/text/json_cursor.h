#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace parhelion::text {

/// Walks through a large JSON text without building values. The text must outlive the cursor;
/// strings are valid UTF-8 where the text is.
///
/// Errors: every member reports corrupt, with `where` and the byte offset, where the text is not
/// what it asks for.
class JsonCursor {
 public:
  JsonCursor(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  /// Calls `on_member(key)` for each member; the call must read the value. The key is valid only
  /// until the next string is read.
  template <class F>
  void object(F&& on_member) {
    open('{');
    for (bool first = true; next_item('}', first); first = false) {
      std::string key_storage;
      const std::string_view key = string(key_storage);
      expect(':');
      on_member(key);
    }
  }
  /// Calls `on_item()` for each item; the call must read the value.
  template <class F>
  void array(F&& on_item) {
    open('[');
    for (bool first = true; next_item(']', first); first = false) on_item();
  }
  /// A string: a view of the text, or of `storage` if it has escapes.
  std::string_view string(std::string& storage);
  /// An integer that fits in 64 bits.
  std::int64_t integer();
  /// The text of any value. Only its brackets and strings are checked.
  std::string_view raw_value();
  /// The first character of the next value, or 0 at the end.
  char peek();
  /// Nothing but white space may follow.
  void finish();

 private:
  void skip_space();
  void open(char bracket);
  void expect(char c);
  bool next_item(char close, bool first);
  void skip_string();
  std::string_view unescape(std::size_t begin, std::string& storage);
  void escape(std::string& storage);
  std::uint32_t hex_unit();
  [[noreturn]] void refuse(std::string_view expected) const;

  std::string_view text_;
  std::string_view where_;
  std::size_t at_ = 0;
};

}  // namespace parhelion::text
