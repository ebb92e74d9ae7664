#pragma once

#include "app/http/answer.h"
#include "app/http/response_store.h"
#include "app/http/served_model.h"
#include "base/json.h"

#include <memory>
#include <string>

namespace parhelion::app {

/// Whether a part has all that it was to have.
enum class PartEnd : std::uint8_t { whole, cut };

/// A protocol whose stream tells of one choice part by part: each is opened, added to, closed.
class BlockFormat : public AnswerFormat {
 public:
  void write(const Delta& delta, std::string& out) final;

 protected:
  virtual void open_part(std::int64_t index, const AnswerPart& part, std::string& out) = 0;
  virtual void add_to_part(std::int64_t index, const AnswerPart& part, const Delta& delta,
                           std::string& out) = 0;
  virtual void close_part(std::int64_t index, const AnswerPart& part, PartEnd end,
                          std::string& out) = 0;

  /// Closes the last part, if one is open.
  void close(PartEnd end, std::string& out);
  /// The choice so far.
  const AnswerChoice& answer() const;

 private:
  AnswerReducer reducer_;
  bool is_open_ = false;
};

/// Answers of /v1/messages. `model` outlives the format.
std::unique_ptr<AnswerFormat> make_messages_format(const ServedModel& model, std::string id,
                                                   std::int64_t prompt_tokens);

/// Answers of /v1/responses. `request` has what a response repeats of its request; `record`, if it
/// is not null, hears of each state. `model` outlives the format.
///
/// Errors: as ResponseRecord::update.
std::unique_ptr<AnswerFormat> make_responses_format(const ServedModel& model, std::string id,
                                                    Json::Object request,
                                                    std::unique_ptr<ResponseRecord> record);

}  // namespace parhelion::app
