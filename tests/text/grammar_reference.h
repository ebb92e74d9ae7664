#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace parhelion::text {

/// A grammar as plain productions, read by Earley's algorithm byte by byte: slow, and written
/// apart from the automata that it checks. Every symbol must match some text.
///
/// Source: Earley 1970, "An efficient context-free parsing algorithm"; empty symbols as in Aycock
/// and Horspool 2002.
class ReferenceGrammar {
 public:
  /// A byte, or a symbol by its number from 256 up.
  using Part = std::int32_t;

  Part add_symbol() {
    productions_.emplace_back();
    return static_cast<Part>(255 + productions_.size());
  }
  void add_production(Part symbol, std::vector<Part> parts) {
    of(symbol).push_back(std::move(parts));
  }

  class Reading;

 private:
  struct Item {
    Part symbol = 0;
    std::size_t production = 0;
    std::size_t dot = 0;
    std::size_t origin = 0;
    auto operator<=>(const Item&) const = default;
  };
  using Items = std::set<Item>;

  std::vector<std::vector<Part>>& of(Part symbol) {
    return productions_[static_cast<std::size_t>(symbol - 256)];
  }
  const std::vector<std::vector<Part>>& of(Part symbol) const {
    return productions_[static_cast<std::size_t>(symbol - 256)];
  }
  const std::vector<Part>& parts(const Item& item) const {
    return of(item.symbol)[item.production];
  }
  bool is_at_end(const Item& item) const { return item.dot == parts(item).size(); }

  std::set<Part> empty_symbols() const {
    std::set<Part> empty;
    for (bool grows = true; grows;) {
      const std::size_t before = empty.size();
      for (std::size_t i = 0; i < productions_.size(); ++i) {
        for (const std::vector<Part>& production : productions_[i]) {
          bool is_empty = true;
          for (const Part part : production) is_empty = is_empty && empty.contains(part);
          if (is_empty) empty.insert(static_cast<Part>(256 + i));
        }
      }
      grows = empty.size() > before;
    }
    return empty;
  }

  /// Appends the items after one more byte.
  void step(std::vector<Items>& sets, std::uint8_t byte, const std::set<Part>& empty) const {
    Items next;
    for (Item item : sets.back()) {
      if (is_at_end(item) || parts(item)[item.dot] != byte) continue;
      ++item.dot;
      next.insert(item);
    }
    sets.push_back(std::move(next));
    close(sets, empty);
  }

  void close(std::vector<Items>& sets, const std::set<Part>& empty) const {
    std::vector<Item> open(sets.back().begin(), sets.back().end());
    const std::size_t here = sets.size() - 1;
    const auto add = [&](const Item& item) {
      if (sets[here].insert(item).second) open.push_back(item);
    };
    while (!open.empty()) {
      const Item item = open.back();
      open.pop_back();
      if (is_at_end(item)) {
        const Items origin = sets[item.origin];
        for (Item waiting : origin) {
          if (is_at_end(waiting) || parts(waiting)[waiting.dot] != item.symbol) continue;
          ++waiting.dot;
          add(waiting);
        }
        continue;
      }
      const Part next = parts(item)[item.dot];
      if (next < 256) continue;
      for (std::size_t i = 0; i < of(next).size(); ++i) add({next, i, 0, here});
      if (empty.contains(next)) add({item.symbol, item.production, item.dot + 1, item.origin});
    }
  }

  std::vector<std::vector<std::vector<Part>>> productions_;
};

/// A text that is read so far.
class ReferenceGrammar::Reading {
 public:
  Reading(const ReferenceGrammar& grammar, Part symbol)
      : grammar_(grammar), symbol_(symbol), empty_(grammar.empty_symbols()), sets_(1) {
    for (std::size_t i = 0; i < grammar.of(symbol).size(); ++i) sets_[0].insert({symbol, i, 0, 0});
    grammar.close(sets_, empty_);
  }

  void push(std::string_view text) {
    for (const char c : text) grammar_.step(sets_, static_cast<std::uint8_t>(c), empty_);
  }
  /// Whether a text of the symbol may begin with what is read and `text`.
  bool may_go_on(std::string_view text) {
    const std::size_t size = sets_.size();
    push(text);
    const bool fits = !sets_.back().empty();
    sets_.resize(size);
    return fits;
  }
  bool is_finished() const {
    for (const Item& item : sets_.back()) {
      if (item.symbol == symbol_ && item.origin == 0 && grammar_.is_at_end(item)) return true;
    }
    return false;
  }

 private:
  const ReferenceGrammar& grammar_;
  Part symbol_;
  std::set<Part> empty_;
  std::vector<Items> sets_;
};

}  // namespace parhelion::text
