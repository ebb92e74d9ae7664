#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace parhelion::app {

/// How often values fell below fixed bounds.
///
/// Threads: any.
class Histogram {
 public:
  /// 1, 2.5, 5, 10 ... times `least`, over five powers of ten.
  explicit Histogram(double least) : least_(least) {}
  void observe(double value);
  /// Appends the samples in Prometheus' text format.
  void write(std::string_view name, std::string_view help, std::string& out) const;

 private:
  static constexpr std::size_t kBounds = 16;
  double bound(std::size_t index) const;

  double least_;
  std::array<std::atomic<std::int64_t>, kBounds + 1> counts_ = {};
  std::atomic<double> sum_ = 0;
};

/// A sum that grows, told apart by labels from a small set.
///
/// Threads: any.
class LabelledCounter {
 public:
  /// `labels` as they stand between braces, such as `endpoint="chat"`.
  void add(const std::string& labels, std::int64_t count = 1);
  void write(std::string_view name, std::string_view help, std::string& out) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t> counts_;  // guarded by mutex_
};

/// What the API counts.
struct Metrics {
  LabelledCounter requests;        ///< by endpoint and how they ended
  LabelledCounter errors;          ///< by code
  LabelledCounter cancelled;       ///< by reason
  LabelledCounter clamped;         ///< values moved into the model's ranges, by field
  LabelledCounter unknown_fields;  ///< by endpoint
  std::atomic<std::int64_t> prompt_tokens = 0;
  std::atomic<std::int64_t> cached_tokens = 0;
  std::atomic<std::int64_t> generated_tokens = 0;
  std::atomic<std::int64_t> malformed_calls = 0;
  Histogram ttft{0.001};
  Histogram inter_token{0.0001};
  Histogram time_per_output_token{0.0001};
  Histogram e2e{0.001};
  Histogram queue{0.0001};
  Histogram tokenise{0.00001};
  Histogram grammar_compile{0.00001};
  Histogram prompt_length{1};
  Histogram output_length{1};
};

/// Appends one number without labels. `type` is gauge or counter.
void write_sample(std::string_view name, std::string_view type, std::string_view help, double value,
                  std::string& out);

}  // namespace parhelion::app
