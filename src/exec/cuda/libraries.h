#pragma once

#include "exec/cuda/handles.h"

#include <cublasLt.h>
#include <filesystem>
#include <memory>
#include <string_view>

struct cudnnContext;

namespace parhelion::exec::cuda {

class AttentionPlans;
class ProductChoices;

/// Handles of the libraries of one executor, made when first asked for, and where their plans are
/// kept.
///
/// Threads: one thread uses an executor.
class Libraries {
 public:
  explicit Libraries(std::filesystem::path plan_cache);
  ~Libraries();
  Libraries(const Libraries&) = delete;
  Libraries& operator=(const Libraries&) = delete;

  cublasLtHandle_t cublas_lt();
  /// Errors: unsupported if cuDNN is older than 9.19.
  cudnnContext* cudnn();
  /// The algorithms of products found so far.
  ProductChoices& product_choices();
  /// The attentions of cuDNN, on the GPU of that name.
  ///
  /// Errors: as cudnn.
  AttentionPlans& attention_plans(std::string_view gpu);
  /// Lent to what captures a graph within a graph.
  cudaStream_t body_stream();
  /// Lent to what captures kernels that are launched dependently.
  cudaStream_t dependent_stream();
  /// Empty: plans are kept nowhere.
  const std::filesystem::path& plan_cache() const { return plan_cache_; }

 private:
  std::filesystem::path plan_cache_;
  Stream body_stream_;
  Stream dependent_stream_;
  cublasLtHandle_t cublas_lt_ = nullptr;
  cudnnContext* cudnn_ = nullptr;
  std::unique_ptr<ProductChoices> product_choices_;
  std::unique_ptr<AttentionPlans> attention_plans_;
};

}  // namespace parhelion::exec::cuda
