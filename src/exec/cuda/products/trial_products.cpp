#include "exec/cuda/products/trial_products.h"

#include "exec/cuda/kernels/trial.h"
#include "exec/cuda/ops/families.h"

#include <algorithm>

namespace parhelion::exec::cuda {
namespace {

constexpr std::int64_t kColdBytes = std::int64_t{128} << 20;  // more than a cache holds
constexpr double kMicrosecondsPerTrial = 1500;
constexpr int kMostLaunches = 20;

std::int64_t trial_bytes(ir::Kind kind, std::int64_t count) {
  return aligned(count * ir::element(kind).block_bytes);
}

}  // namespace

TrialProducts::TrialProducts(const ProductShape& largest, std::int64_t row_period)
    : shape_(largest),
      row_period_(row_period),
      b_bytes_(trial_bytes(largest.b, largest.k * largest.n)),
      b_copies_(std::max<std::int64_t>(1, kColdBytes / b_bytes_)),
      stream_(make_stream()),
      begin_(make_timer()),
      end_(make_timer()),
      a_(trial_bytes(largest.a, largest.m * largest.k)),
      b_(b_bytes_ * b_copies_),
      c_(trial_bytes(largest.out, largest.m * largest.n)),
      expected_(trial_bytes(largest.out, row_period * largest.n)),
      workspace_(LtMatmul::kMostWorkspace),
      differences_(static_cast<std::int64_t>(sizeof(unsigned))) {
  TrialMatrix a{.kind = shape_.a, .data = a_.data(), .seed = 1};
  a.rows = shape_.transpose_a ? shape_.k : shape_.m;
  a.columns = shape_.transpose_a ? shape_.m : shape_.k;
  a.row_period = shape_.transpose_a ? shape_.k : row_period;
  a.column_period = shape_.transpose_a ? row_period : shape_.k;
  fill_trial(a, stream_.get());
  const std::int64_t b_count = b_bytes_ / ir::element(shape_.b).block_bytes;
  fill_trial({.kind = shape_.b,
              .data = b_.data(),
              .rows = b_copies_,
              .columns = b_count,
              .row_period = 1,
              .column_period = b_count,
              .seed = 2},
             stream_.get());
}

void TrialProducts::run(const LtMatmul& product, const LtAlgorithm& algorithm, std::byte* c) {
  const ProductShape& shape = product.shape();
  if (shape.accumulate) {
    const std::int64_t bytes = trial_bytes(shape.out, shape.m * shape.n);
    check(cudaMemsetAsync(c, 0, static_cast<std::size_t>(bytes), stream_.get()), "cudaMemsetAsync");
  }
  product.run(algorithm, a_.data(), b_.data(), c, c, workspace_.data(), stream_.get());
}

void TrialProducts::set_expected(const LtMatmul& product, const LtAlgorithm& algorithm) {
  run(product, algorithm, expected_.data());
}

bool TrialProducts::agrees(const LtMatmul& product, const LtAlgorithm& algorithm) {
  auto* differences = reinterpret_cast<unsigned*>(differences_.data());
  check(cudaMemsetAsync(differences, 0, sizeof(unsigned), stream_.get()), "cudaMemsetAsync");
  run(product, algorithm, c_.data());
  compare_trial({.kind = shape_.out,
                 .expected = expected_.data(),
                 .actual = c_.data(),
                 .rows = product.shape().m,
                 .columns = shape_.n,
                 .period = row_period_,
                 .differences = differences},
                stream_.get());
  unsigned found = 0;
  check(cudaMemcpyAsync(&found, differences, sizeof found, cudaMemcpyDeviceToHost, stream_.get()),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream_.get()), "a trial of a product");
  return found == 0;
}

double TrialProducts::time(const LtMatmul& product, const LtAlgorithm& algorithm, int launches) {
  check(cudaEventRecord(begin_.get(), stream_.get()), "cudaEventRecord");
  for (int i = 0; i < launches; ++i) {
    next_copy_ = (next_copy_ + 1) % b_copies_;
    product.run(algorithm, a_.data(), b_.data() + next_copy_ * b_bytes_, c_.data(), c_.data(),
                workspace_.data(), stream_.get());
  }
  check(cudaEventRecord(end_.get(), stream_.get()), "cudaEventRecord");
  check(cudaEventSynchronize(end_.get()), "a trial of a product");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) * 1000 / launches;
}

double TrialProducts::microseconds(const LtMatmul& product, const LtAlgorithm& algorithm) {
  time(product, algorithm, 1);  // loads the kernel
  const double first = std::max(time(product, algorithm, 1), 1.0);
  const double launches = std::clamp(kMicrosecondsPerTrial / first, 1.0, double{kMostLaunches});
  return std::min(first, time(product, algorithm, static_cast<int>(launches)));
}

}  // namespace parhelion::exec::cuda
