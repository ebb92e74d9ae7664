#pragma once

#include "text/tokenizer.h"

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace parhelion::text {

struct EncoderState;

/// Encodes texts and remembers the words it saw.
///
/// Threads: one at a time per encoder; encoders share a tokenizer freely.
class Encoder {
 public:
  /// Sized for texts of about `text_bytes` in all.
  explicit Encoder(Tokenizer tokenizer, std::size_t text_bytes = std::size_t{1} << 20);
  ~Encoder();
  Encoder(Encoder&& other) noexcept;
  Encoder& operator=(Encoder&& other) noexcept;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  /// Appends the tokens of `text` to `ids`.
  ///
  /// Errors: as of Tokenizer::encode; then `ids` is as it was.
  void encode(std::string_view text, const EncodeOptions& options, std::vector<TokenId>& ids);

 private:
  std::unique_ptr<EncoderState> state_;
};

}  // namespace parhelion::text
