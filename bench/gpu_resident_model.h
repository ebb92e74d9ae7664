#pragma once

#include "base/error.h"

#include "gpu_resident.h"
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace parhelion::bench {

/// Device memory, cleared.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { cudaFree(memory_); }

  explicit DeviceMemory(std::int64_t bytes) {
    check(cudaMalloc(&memory_, static_cast<std::size_t>(bytes)), "cudaMalloc");
    check(cudaMemset(memory_, 0, static_cast<std::size_t>(bytes)), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaMemset");  // streams that do not wait for it follow
  }
  template <class T>
  T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  void* memory_ = nullptr;
};

/// By how much a vector of the kernel lies beside the reference, in parts of the reference's norm.
struct Difference {
  std::string what;
  double relative;
};

/// A decoder of random parameters with a cache of random keys and values.
class ResidentModel {
 public:
  ResidentModel(const DecoderShape& shape, int most_positions);

  /// The next step is of `token` at `position`.
  void place(int token, int position);

  /// A step of the first `layers` layers.
  StepArgs args(const Choice& choice, int layers) const;

  /// As if no step had run: needed after steps that did not wait for each other.
  void forget_steps() const;

  /// Runs the reference of args(_, layers).
  void refer(int layers) const;

  /// Differences of the last step from the reference: of residual, keys, values, the answer's
  /// logit, and the largest one; where `inner` also of what lies between in the last layer.
  std::vector<Difference> differences(int layers, bool inner) const;

  const DecoderShape& shape() const { return decoder_.shape; }
  std::int64_t* marks() const { return marks_; }

  /// Bytes of a step: weights and keys and values before `position`, once.
  double step_bytes(int position) const;

 private:
  template <class T>
  T* room(std::int64_t count) {
    memory_.emplace_back(count * static_cast<std::int64_t>(sizeof(T)));
    return memory_.back().as<T>();
  }
  Bf16* filled(std::int64_t count, float mean, float deviation);
  void make_parameters();
  void make_cache(int positions);
  void make_exchanged();
  void make_reference(int positions);
  double answer_difference() const;
  double word_difference(const Word* words, const double* reference, std::int64_t count) const;

  std::vector<DeviceMemory> memory_;
  Decoder decoder_;
  Exchanged exchanged_;
  Reference reference_;
  std::vector<std::pair<void*, std::size_t>> told_;  // memory of exchanged_
  std::int32_t* place_ = nullptr;                    // token, position
  std::int32_t* answer_ = nullptr;
  float* logit_ = nullptr;
  std::int64_t* marks_ = nullptr;
  std::uint64_t seed_ = 1;
  int position_ = 0;
};

template <class T>
std::vector<T> download(const T* from, std::int64_t count) {
  std::vector<T> result(static_cast<std::size_t>(count));
  check(cudaMemcpy(result.data(), from, result.size() * sizeof(T), cudaMemcpyDeviceToHost),
        "cudaMemcpy");
  return result;
}

}  // namespace parhelion::bench
