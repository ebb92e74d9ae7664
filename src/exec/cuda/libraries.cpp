#include "exec/cuda/libraries.h"

#include "base/error.h"
#include "exec/cuda/check.h"
#include "exec/cuda/cudnn/attention_plans.h"
#include "exec/cuda/products/product_choices.h"

#include <cudnn.h>
#include <utility>

namespace parhelion::exec::cuda {
namespace {

constexpr std::size_t kOldestCudnn = 91900;  // packed training and paged serving have equal bits

}  // namespace

Libraries::Libraries(std::filesystem::path plan_cache) : plan_cache_(std::move(plan_cache)) {}

Libraries::~Libraries() {
  attention_plans_.reset();  // uses the handle
  if (cublas_lt_ != nullptr) cublasLtDestroy(cublas_lt_);
  if (cudnn_ != nullptr) cudnnDestroy(cudnn_);
}

cublasLtHandle_t Libraries::cublas_lt() {
  if (cublas_lt_ == nullptr) check(cublasLtCreate(&cublas_lt_), "cublasLtCreate");
  return cublas_lt_;
}

cudaStream_t Libraries::body_stream() {
  if (!body_stream_) body_stream_ = make_stream();
  return body_stream_.get();
}

cudaStream_t Libraries::dependent_stream() {
  if (!dependent_stream_) dependent_stream_ = make_dependent_stream();
  return dependent_stream_.get();
}

ProductChoices& Libraries::product_choices() {
  if (product_choices_ == nullptr) product_choices_ = std::make_unique<ProductChoices>();
  return *product_choices_;
}

AttentionPlans& Libraries::attention_plans(std::string_view gpu) {
  if (attention_plans_ == nullptr)
    attention_plans_ = std::make_unique<AttentionPlans>(cudnn(), PlanFiles(plan_cache_), gpu);
  return *attention_plans_;
}

cudnnContext* Libraries::cudnn() {
  if (cudnn_ != nullptr) return cudnn_;
  const std::size_t version = cudnnGetVersion();
  ensure(version >= kOldestCudnn, ErrorKind::unsupported, "cudnn: is {}.{}, expected 9.19 or later",
         version / 10000, version / 100 % 100);
  const cudnnStatus_t status = cudnnCreate(&cudnn_);
  ensure(status == CUDNN_STATUS_SUCCESS, ErrorKind::device, "cudnnCreate: {}",
         cudnnGetErrorString(status));
  return cudnn_;
}

}  // namespace parhelion::exec::cuda
