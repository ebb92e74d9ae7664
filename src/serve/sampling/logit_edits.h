#pragma once

#include "contract/contract.h"
#include "serve/request.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace parhelion::serve {

/// How a sequence's logits change as it goes on: biases, bad and allowed ids, its token mask, stop
/// ids that come too early, and penalties for tokens that it has had. Allocates when made, not
/// later.
class LogitEdits {
 public:
  /// Whether a request needs any.
  static bool are_asked(const contract::SamplingPolicy& policy, const Request& request);

  /// The request must outlive it.
  ///
  /// Errors: invalid, naming the value, if one is outside its legal range or an id outside the
  ///         vocabulary.
  LogitEdits(const contract::Contract& contract, const Request& request);

  /// Counts a drawn token.
  void note_drawn(std::int32_t id);

  /// The edits for the next draw of a sequence that has drawn so many tokens. Valid until the next
  /// call of either. Null if the mask, the allowed ids and the bad ones leave nothing to draw.
  const LogitEditsView* view(TokenMask* mask, std::int64_t drawn);

  /// The ids that it names now, and the most that it can ever name.
  std::int64_t ids() const { return std::ssize(ids_); }
  std::int64_t most_ids() const { return most_ids_; }

 private:
  std::size_t entry(std::int32_t id);
  void add_bias(std::int32_t id, float bias);
  void note_prompt(std::int32_t id);
  void allow(const contract::Contract& contract, const Request& request);

  float repetition_, presence_, frequency_;
  std::int64_t min_tokens_;
  std::int64_t most_ids_ = 0;
  std::vector<std::int32_t> early_stop_ids_;             // that are masked before min_tokens
  std::vector<std::int32_t> ids_;                        // beside bias_, scale_, subtract_
  std::vector<float> bias_, scale_, subtract_, counts_;  // counts_: how often it was drawn
  std::vector<std::int32_t> places_;      // open addressing: where an id is in ids_, or -1
  std::vector<std::uint32_t> allowed_;    // bits, without those of bad ids; empty: all ids
  std::vector<std::uint32_t> next_mask_;  // bits for the next draw; empty: no mask is needed
  LogitEditsView view_;
};

}  // namespace parhelion::serve
