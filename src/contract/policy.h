#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::contract {

/// A sampling value: what it is when a request does not say, and between which bounds a request may
/// set it.
struct SamplingValue {
  double standard = 0;
  double lowest = 0;
  double highest = 0;
  bool operator==(const SamplingValue&) const = default;
};

/// The most that top_k may be, in a policy and in a request.
inline constexpr double kMostTopK = 1 << 30;

/// Sampling of a model, as its author means it. Greedy (temperature 0) is always in range.
struct SamplingPolicy {
  SamplingValue temperature;
  SamplingValue top_k;  ///< whole numbers, 0 = off
  SamplingValue top_p;
  SamplingValue min_p;
  SamplingValue repetition_penalty = {.standard = 1, .lowest = 0.01, .highest = 100};  ///< 1 = off
  SamplingValue presence_penalty = {.standard = 0, .lowest = -2, .highest = 2};        ///< 0 = off
  SamplingValue frequency_penalty = {.standard = 0, .lowest = -2, .highest = 2};       ///< 0 = off
  std::int64_t max_tokens = 0;  ///< of a completion when a request does not say; 0 = the context
  std::vector<std::string> stop_strings = {};  ///< that end a completion besides `stop_ids`
  bool operator==(const SamplingPolicy&) const = default;
};

/// Which tokens of a sequence a group of layers keeps.
enum class CacheScheme : std::uint8_t {
  full,            ///< every token
  sliding_window,  ///< the last `window_tokens`
};
std::string_view name(CacheScheme scheme);

/// Layers whose state shares one page table.
struct CacheGroup {
  CacheScheme scheme = CacheScheme::full;
  std::int64_t window_tokens = 0;         ///< of a sliding window, else 0
  std::vector<std::string> buffers = {};  ///< states of `extend`
  bool operator==(const CacheGroup&) const = default;
};

/// How keys and values are stored: every cache buffer of the program is [pages, page_tokens, ...].
/// Page 0 is the null page.
struct CachePolicy {
  std::int64_t page_tokens = 0;
  std::int64_t context_tokens = 0;      ///< the longest sequence
  std::vector<CacheGroup> groups = {};  ///< empty: one full group of every state
  bool operator==(const CachePolicy&) const = default;
};

/// How texts become vectors: the final hidden state of a text's last token.
struct EmbeddingPolicy {
  bool normalises = true;                     ///< to length 1
  std::vector<std::int64_t> dimensions = {};  ///< that requests may cut vectors to, besides all
  bool operator==(const EmbeddingPolicy&) const = default;
};

/// Hard bounds on what is asked of a server, which may lower them; 0 = as much as the catalogue and
/// the context allow.
struct Limits {
  std::int64_t rows = 0;         ///< sequences in one execution
  std::int64_t step_tokens = 0;  ///< tokens in one execution
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t request_sequences = 0;  ///< sequences of one request
  std::int64_t queued_requests = 0;
  bool operator==(const Limits&) const = default;
};

}  // namespace parhelion::contract
