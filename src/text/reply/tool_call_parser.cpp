#include "text/reply/tool_call_parser.h"

#include "text/reply/call_body.h"
#include "text/reply/marker_search.h"

#include <algorithm>
#include <utility>

namespace parhelion::text {
namespace {

constexpr std::string_view kCallSpace = " \t\r\n";

bool is_space_only(std::string_view text) {
  return text.find_first_not_of(kCallSpace) == std::string_view::npos;
}

}  // namespace

class ToolCallReader {
 public:
  ToolCallReader(ToolFormat format, Json tools)
      : format_(std::move(format)), tools_(std::move(tools)) {
    add_markers(format_.opens, MarkerRole::open);
    add_markers(format_.section_opens, MarkerRole::section_open);
    add_markers(format_.section_closes, MarkerRole::section_close);
    add_markers(format_.dropped, MarkerRole::dropped);
  }

  void push(std::string_view piece, ReplyEvents& events) {
    input_ += piece;
    run(TextEnd::open, events);
  }

  void finish(ReplyEvents& events) {
    run(TextEnd::final, events);
    while (body_ != nullptr) {  // what was no call is text, which may hold a whole one
      break_off({}, events);
      run(TextEnd::final, events);
    }
    const bool is_after_call = call_ends_ && is_space_only(gap_);
    if (!is_after_call) add_text(events, ReplyPart::text, gap_);
    gap_.clear();
  }

  std::int64_t call_count() const { return sink_.index() + (sink_.is_begun() ? 1 : 0); }
  std::int64_t malformed_count() const { return malformed_count_; }

 private:
  enum class MarkerRole : std::uint8_t { open, section_open, section_close, dropped };

  void add_markers(const std::vector<std::string>& markers, MarkerRole role) {
    for (const std::string& marker : markers) {
      markers_.push_back(marker);
      roles_.push_back(role);
    }
  }

  void run(TextEnd end, ReplyEvents& events) {
    while (step(end, events)) {
    }
  }

  /// Decides more of the input; says whether there may be more to decide.
  bool step(TextEnd end, ReplyEvents& events) {
    if (input_.empty()) return false;
    if (body_ != nullptr) return step_body(events);
    return is_closing_ ? step_closing() : step_text(end, events);
  }

  bool step_body(ReplyEvents& events) {
    for (std::size_t at = 0; at < input_.size(); ++at) {
      const std::int64_t calls_before = sink_.index();
      const BodyStep step = body_->push(input_[at], sink_, events);
      if (step == BodyStep::failed) {
        break_off(input_.substr(at), events);
        return true;
      }
      raw_ += input_[at];
      if (sink_.is_begun() || sink_.index() != calls_before) forget_raw();
      if (step == BodyStep::more) continue;
      input_.erase(0, at + 1);
      end_body();
      return true;
    }
    input_.clear();
    return false;
  }

  void forget_raw() {
    raw_.clear();
    opening_bytes_ = 0;
  }

  void end_body() {
    body_ = nullptr;
    forget_raw();
    call_ends_ = true;
    is_closing_ = !format_.close.empty();
  }

  /// Makes text of a call that is none. Its opening is told at once, so that it does not open the
  /// same call again.
  void break_off(const std::string& rest, ReplyEvents& events) {
    ++malformed_count_;
    const std::string text = sink_.is_begun() ? body_->break_off(sink_, events) : raw_;
    const std::size_t opening = std::min(opening_bytes_, text.size());
    sink_.abandon();
    body_ = nullptr;
    forget_raw();
    tell_text(text.substr(0, opening), events);
    input_ = text.substr(opening) + rest;
  }

  /// The end marker of a call, behind white space. It may be absent.
  bool step_closing() {
    for (std::size_t at = 0; at < input_.size(); ++at) {
      close_ += input_[at];
      while (!format_.close.starts_with(close_) && is_space_only(close_.substr(0, 1))) {
        gap_ += close_[0];
        close_.erase(0, 1);
      }
      const bool is_whole = close_ == format_.close;
      if (!is_whole && format_.close.starts_with(close_)) continue;
      input_ = (is_whole ? "" : close_) + input_.substr(at + 1);
      if (is_whole) gap_.clear();
      close_.clear();
      is_closing_ = false;
      return true;
    }
    input_.clear();
    return false;
  }

  bool step_text(TextEnd end, ReplyEvents& events) {
    if (begins_bare()) return true;
    const MarkerMatch match = find_marker(input_, markers_, end);
    if (match.at > 0) {
      tell_text(input_.substr(0, match.at), events);
      input_.erase(0, match.at);
      return true;
    }
    if (!match.is_whole) return false;
    const std::string marker = markers_[match.marker];
    input_.erase(0, marker.size());
    take_marker(marker, roles_[match.marker], events);
    return true;
  }

  /// An answer that begins with { may be a call without a marker.
  bool begins_bare() {
    if (!format_.is_bare || has_text_) return false;
    const std::size_t first = input_.find_first_not_of(kCallSpace);
    if (first == std::string::npos || input_[first] != '{') return false;
    gap_ += input_.substr(0, first);
    input_.erase(0, first);
    begin_body("");
    return true;
  }

  void begin_body(const std::string& marker) {
    raw_ = std::exchange(gap_, {}) + marker;
    opening_bytes_ = raw_.size() + (marker.empty() ? 1 : 0);
    body_ = make_call_body(format_, tools_);
  }

  void take_marker(const std::string& marker, MarkerRole role, ReplyEvents& events) {
    switch (role) {
      case MarkerRole::open:
        return begin_body(marker);
      case MarkerRole::section_open:
        gap_ += marker;
        return;
      case MarkerRole::section_close:
        if (call_ends_) {
          gap_.clear();
        } else {
          tell_text(marker, events);
        }
        return;
      case MarkerRole::dropped:
        return;
    }
  }

  /// Tells text, with the white space before it. What stands at its end may belong to a call.
  void tell_text(const std::string& text, ReplyEvents& events) {
    const std::size_t last = text.find_last_not_of(kCallSpace);
    if (last == std::string::npos) {
      gap_ += text;
      return;
    }
    add_text(events, ReplyPart::text, std::exchange(gap_, {}) + text.substr(0, last + 1));
    gap_ = text.substr(last + 1);
    has_text_ = true;
    call_ends_ = false;
  }

  ToolFormat format_;
  Json tools_;
  std::vector<std::string> markers_;
  std::vector<MarkerRole> roles_;

  std::string input_;  // not decided yet
  std::string gap_;    // white space and section markers that a call would drop
  std::unique_ptr<CallBody> body_;
  std::string raw_;                // of a call that has not begun, with its marker
  std::size_t opening_bytes_ = 0;  // of these, what opened it
  bool is_closing_ = false;        // the end marker of a call may come
  std::string close_;              // what of it has come
  bool call_ends_ = false;         // nothing but white space since a call
  bool has_text_ = false;
  CallSink sink_;
  std::int64_t malformed_count_ = 0;
};

ToolCallParser::ToolCallParser(ToolFormat format, Json tools)
    : reader_(std::make_unique<ToolCallReader>(std::move(format), std::move(tools))) {}
ToolCallParser::~ToolCallParser() = default;
ToolCallParser::ToolCallParser(ToolCallParser&&) noexcept = default;
ToolCallParser& ToolCallParser::operator=(ToolCallParser&&) noexcept = default;

void ToolCallParser::push(std::string_view piece, ReplyEvents& events) {
  reader_->push(piece, events);
}
void ToolCallParser::finish(ReplyEvents& events) { reader_->finish(events); }
std::int64_t ToolCallParser::call_count() const { return reader_->call_count(); }
std::int64_t ToolCallParser::malformed_count() const { return reader_->malformed_count(); }

}  // namespace parhelion::text
