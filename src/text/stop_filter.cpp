#include "text/stop_filter.h"

#include "base/error.h"

#include <algorithm>
#include <utility>

namespace parhelion::text {

StopFilter::StopFilter(const std::vector<std::string>& stops, StopText shows)
    : lengths_(stops.size()), shows_(shows) {
  std::vector<Pattern> patterns;
  for (const std::string& stop : stops) {
    ensure(!stop.empty(), ErrorKind::invalid, "stop string is empty, expected text");
    patterns.push_back(make_pattern(stop));
  }
  patterns_ = std::make_shared<const std::vector<Pattern>>(std::move(patterns));
}

StopFilter::Pattern StopFilter::make_pattern(const std::string& text) {
  Pattern pattern{.text = text, .fallbacks = {0}};
  for (std::size_t i = 1; i < text.size(); ++i) {
    pattern.fallbacks.push_back(advance(pattern, pattern.fallbacks.back(), text[i]));
  }
  return pattern;
}

/// How much of the pattern a text ends with that ended with `length` of it, and then had `c`.
std::size_t StopFilter::advance(const Pattern& pattern, std::size_t length, char c) {
  while (length > 0 && pattern.text[length] != c) length = pattern.fallbacks[length - 1];
  return pattern.text[length] == c ? length + 1 : 0;
}

std::string StopFilter::push(std::string_view text) {
  std::string shown;
  if (matched_ != nullptr) return shown;
  const std::vector<Pattern>& patterns = *patterns_;
  for (const char c : text) {
    held_ += c;
    std::size_t longest = 0;
    std::size_t match = patterns.size();
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      lengths_[i] = advance(patterns[i], lengths_[i], c);
      longest = std::max(longest, lengths_[i]);
      const bool is_whole = lengths_[i] == patterns[i].text.size();
      const bool is_longer =
          match == patterns.size() || patterns[i].text.size() > patterns[match].text.size();
      if (is_whole && is_longer) match = i;
    }
    if (match != patterns.size()) return end_with(std::move(shown), match);
    const std::size_t ready = held_.size() - longest;
    shown += std::string_view(held_).substr(0, ready);
    held_.erase(0, ready);
  }
  return shown;
}

std::string StopFilter::end_with(std::string shown, std::size_t pattern) {
  matched_ = &(*patterns_)[pattern];
  const std::size_t hidden = shows_ == StopText::hidden ? matched_->text.size() : 0;
  shown += std::string_view(held_).substr(0, held_.size() - hidden);
  held_.clear();
  return shown;
}

std::string StopFilter::flush() {
  std::fill(lengths_.begin(), lengths_.end(), 0);
  return std::exchange(held_, {});
}

const std::string* StopFilter::matched() const {
  return matched_ == nullptr ? nullptr : &matched_->text;
}

}  // namespace parhelion::text
