#pragma once

#include "app/http/generation.h"
#include "app/http/reply_source.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace parhelion::app {

struct ApiCall;

/// How vectors are written.
enum class VectorText : std::uint8_t {
  numbers,  ///< as a list of numbers
  base64,   ///< packed, as little-endian f32
};

/// What the vectors of a request are to be.
struct EmbeddingPlan {
  std::vector<std::vector<std::int32_t>> prompts = {};
  std::int64_t dimension = 0;  ///< their first numbers
  bool normalises = true;      ///< then to length 1
  VectorText text = VectorText::numbers;
  std::optional<std::chrono::duration<double>> time = {};  ///< after which it is given up
  std::uint64_t fairness_key = 0;
};

/// Takes the vector of one request.
///
/// Threads: `take` is the engine's, all else the reader's.
class VectorSink : public serve::Sink {
 public:
  VectorSink(std::int64_t width, std::shared_ptr<Bell> bell)
      : vector_(static_cast<std::size_t>(width)), bell_(std::move(bell)) {}

  void take(const serve::TokenEvent&) override {}
  void take(const serve::FinishEvent& event) override;

  bool is_finished() const { return is_finished_; }
  /// Whether the engine has let go: true soon after the finish is told.
  bool is_released() const { return is_released_; }
  /// Of a finished request.
  const serve::FinishEvent& finish() const { return finish_; }
  std::vector<float>& vector() { return vector_; }

 private:
  std::vector<float> vector_;
  serve::FinishEvent finish_;
  std::shared_ptr<Bell> bell_;
  std::atomic<bool> is_finished_ = false;
  std::atomic<bool> is_released_ = false;
};

/// The answer to a request for vectors, some of whose texts are with the server at a time.
///
/// Errors: as serve::Server::submit, of the first text.
std::unique_ptr<ReplySource> make_embedding_source(ApiCall& call, EmbeddingPlan plan);

/// The first `dimension` numbers, at length 1 if asked for. A vector of zeros stays one.
void fit_vector(std::int64_t dimension, bool normalises, std::vector<float>& vector);

/// Appends a vector as a value of JSON.
void write_vector(const std::vector<float>& vector, VectorText text, std::string& out);

}  // namespace parhelion::app
