#pragma once

#include "base/json.h"
#include "text/reply/reply_event.h"
#include "text/reply/reply_format.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace parhelion::text {

/// Takes what the body of a call tells.
class CallSink {
 public:
  void begin(std::string name, ReplyEvents& events) {
    is_begun_ = true;
    events.push_back({ReplyPart::call, std::move(name), index_});
  }
  void add(std::string_view arguments, ReplyEvents& events) {
    add_text(events, ReplyPart::arguments, std::string(arguments), index_);
  }
  void end(ReplyEvents& events) {
    events.push_back({ReplyPart::call_end, {}, index_});
    is_begun_ = false;
    ++index_;
  }
  /// Goes on to the next call, as the one that has begun breaks off.
  void abandon() {
    if (is_begun_) ++index_;
    is_begun_ = false;
  }

  bool is_begun() const { return is_begun_; }
  std::int64_t index() const { return index_; }

 private:
  std::int64_t index_ = 0;
  bool is_begun_ = false;
};

enum class BodyStep : std::uint8_t {
  more,
  done,    ///< the body ends with this character
  failed,  ///< this character cannot stand here
};

/// Reads what stands between the markers of a call, character by character.
class CallBody {
 public:
  virtual ~CallBody() = default;
  virtual BodyStep push(char c, CallSink& sink, ReplyEvents& events) = 0;
  /// Tells what has been taken of an argument, as a call that has begun breaks off; gives back what
  /// is no argument.
  virtual std::string break_off(CallSink&, ReplyEvents&) { return {}; }
};

/// The body of a call of this format. `tools` lists what may be called, for the types of arguments.
std::unique_ptr<CallBody> make_call_body(const ToolFormat& format, const Json& tools);

std::unique_ptr<CallBody> make_object_body(const ToolFormat& format);
std::unique_ptr<CallBody> make_list_body(const ToolFormat& format);
std::unique_ptr<CallBody> make_named_body(const ToolFormat& format);
std::unique_ptr<CallBody> make_parameter_body(const ToolFormat& format, const Json& tools);

/// Whether `c` may stand in the name of a function or argument.
bool is_call_name(char c);

/// A string as JSON writes it.
std::string quote_json(std::string_view text);

}  // namespace parhelion::text
