#include "exec/cuda/kernels/log_sum_exp.h"
#include "exec/cuda/ops/families.h"
#include "exec/cuda/products/product.h"

#include <algorithm>
#include <optional>

namespace parhelion::exec::cuda {
namespace {

/// Rows of logits that exist at one time: enough for the matmuls, and for the sum of the weight's
/// gradient to be read and written seldom.
constexpr std::int64_t kLogitRows = 4096;

/// Sizes and kinds of a linear_cross_entropy and of its parts.
struct LinearSizes {
  std::int64_t tokens, hidden, vocabulary;
  ir::Kind kind, weight_kind;

  explicit LinearSizes(const OpView& op)
      : tokens(op.input_dim(0, 0)),
        hidden(op.input_dim(0, 1)),
        vocabulary(op.input_dim(1, 0)),
        kind(op.inputs[0].kind()),
        weight_kind(op.inputs[1].kind()) {}

  /// z = hidden weight^T.
  ProductShape logits(std::int64_t rows) const {
    return {.m = rows,
            .n = vocabulary,
            .k = hidden,
            .transpose_b = true,
            .a = kind,
            .b = weight_kind,
            .out = ir::Kind::f32};
  }
  /// dhidden = dz weight.
  ProductShape hidden_gradient(std::int64_t rows) const {
    return {.m = rows, .n = hidden, .k = vocabulary, .a = kind, .b = weight_kind, .out = kind};
  }
  /// acc += dz^T hidden.
  ProductShape weight_gradient(std::int64_t rows) const {
    return {.m = vocabulary,
            .n = hidden,
            .k = rows,
            .transpose_a = true,
            .a = kind,
            .b = kind,
            .out = ir::Kind::f32,
            .accumulate = true};
  }
};

/// Which gradients an op makes.
enum class Slopes : std::uint8_t { none, hidden, hidden_and_weight };

/// The products of one number of rows.
struct LinearProducts {
  Product logits;
  std::optional<Product> hidden_gradient, weight_gradient;

  LinearProducts(const LinearSizes& sizes, std::int64_t rows, Slopes slopes, const Device& device)
      : logits(sizes.logits(rows), device) {
    if (slopes == Slopes::none) return;
    hidden_gradient.emplace(sizes.hidden_gradient(rows), device);
    if (slopes == Slopes::hidden_and_weight)
      weight_gradient.emplace(sizes.weight_gradient(rows), device);
  }

  std::int64_t workspace_bytes() const {
    std::int64_t bytes = logits.workspace_bytes();
    for (const std::optional<Product>* each : {&hidden_gradient, &weight_gradient}) {
      if (*each) bytes = std::max(bytes, (*each)->workspace_bytes());
    }
    return bytes;
  }
};

/// Addresses of an op; what it has not is null.
struct LinearOperands {
  const std::byte* hidden = nullptr;
  const std::byte* weight = nullptr;
  const std::int32_t* labels = nullptr;
  const float* given_lse = nullptr;
  const float* dloss = nullptr;
  float* loss = nullptr;
  float* lse = nullptr;
  std::byte* dhidden = nullptr;
  std::byte* acc = nullptr;
  std::byte* workspace = nullptr;
  cudaStream_t stream = nullptr;
};

/// The op over chunks of rows, in a workspace of logits, their gradient, and the products' own.
class LinearLoss {
 public:
  LinearLoss(const OpView& op, Slopes slopes, const Device& device)
      : sizes_(op),
        rows_(std::min(kLogitRows, sizes_.tokens)),
        whole_(sizes_, rows_, slopes, device),
        last_(sizes_, rows_ == 0 ? 0 : sizes_.tokens % rows_, slopes, device),
        logit_bytes_(aligned(rows_ * sizes_.vocabulary * std::int64_t{sizeof(float)})) {
    const bool apart = slopes != Slopes::none && sizes_.kind != ir::Kind::f32;
    dz_bytes_ = apart ? aligned(rows_ * sizes_.vocabulary * element_bytes()) : 0;
  }

  std::int64_t workspace_bytes() const {
    return logit_bytes_ + dz_bytes_ + std::max(whole_.workspace_bytes(), last_.workspace_bytes());
  }
  /// Names the bits of what each row gets.
  std::string numerics() const {
    std::string text = "log_sum_exp.units1024." + whole_.logits.numerics();
    if (whole_.hidden_gradient) text += " " + whole_.hidden_gradient->numerics();
    return text;
  }

  void launch(const LinearOperands& at) const {
    for (std::int64_t first = 0; first < sizes_.tokens; first += rows_) {
      const std::int64_t rows = std::min(rows_, sizes_.tokens - first);
      launch_rows(rows == rows_ ? whole_ : last_, at, first, rows);
    }
  }

 private:
  std::int64_t element_bytes() const { return ir::element(sizes_.kind).block_bytes; }

  void launch_rows(const LinearProducts& products, const LinearOperands& at, std::int64_t first,
                   std::int64_t rows) const {
    const std::int64_t offset = first * sizes_.hidden * element_bytes();
    std::byte* logits = at.workspace;
    std::byte* dz = dz_bytes_ == 0 ? logits : logits + logit_bytes_;
    std::byte* scratch = logits + logit_bytes_ + dz_bytes_;
    const std::byte* hidden = at.hidden + offset;
    products.logits.launch(
        {.a = hidden, .b = at.weight, .c = logits, .workspace = scratch, .stream = at.stream});
    logit_rows({.logits = reinterpret_cast<const float*>(logits),
                .rows = rows,
                .cols = sizes_.vocabulary,
                .labels = at.labels + first,
                .given_lse = at.given_lse == nullptr ? nullptr : at.given_lse + first,
                .lse = at.lse == nullptr ? nullptr : at.lse + first,
                .loss = at.loss == nullptr ? nullptr : at.loss + first,
                .dloss = at.dloss == nullptr ? nullptr : at.dloss + first,
                .d_kind = sizes_.kind,
                .d = at.dhidden == nullptr ? nullptr : dz},
               at.stream);
    if (products.hidden_gradient) {
      products.hidden_gradient->launch({.a = dz,
                                        .b = at.weight,
                                        .c = at.dhidden + offset,
                                        .workspace = scratch,
                                        .stream = at.stream});
    }
    if (products.weight_gradient) {
      products.weight_gradient->launch(
          {.a = dz, .b = hidden, .c = at.acc, .workspace = scratch, .stream = at.stream});
    }
  }

  LinearSizes sizes_;
  std::int64_t rows_;
  LinearProducts whole_, last_;
  std::int64_t logit_bytes_ = 0, dz_bytes_ = 0;
};

Slopes slopes_of(bool accumulate) {
  return accumulate ? Slopes::hidden_and_weight : Slopes::hidden;
}

Slopes slopes_of(const ir::LinearCrossEntropy&) { return Slopes::none; }
Slopes slopes_of(const ir::LinearCrossEntropyGrad& op) { return slopes_of(op.accumulate); }
Slopes slopes_of(const ir::LinearCrossEntropyStep& op) { return slopes_of(op.accumulate); }

LinearOperands common_operands(const LaunchArgs& launch) {
  return {.hidden = launch.inputs[0],
          .weight = launch.inputs[1],
          .labels = launch.in<std::int32_t>(2),
          .workspace = launch.workspace,
          .stream = launch.stream};
}

LinearOperands operands_of(const ir::LinearCrossEntropy&, const LaunchArgs& launch) {
  LinearOperands at = common_operands(launch);
  at.loss = launch.out<float>(0);
  at.lse = launch.out<float>(1);
  return at;
}

LinearOperands operands_of(const ir::LinearCrossEntropyGrad& op, const LaunchArgs& launch) {
  LinearOperands at = common_operands(launch);
  at.given_lse = launch.in<float>(3);
  at.dloss = launch.in<float>(4);
  at.dhidden = launch.outputs[0];
  at.acc = op.accumulate ? launch.outputs[1] : nullptr;
  return at;
}

LinearOperands operands_of(const ir::LinearCrossEntropyStep& op, const LaunchArgs& launch) {
  LinearOperands at = common_operands(launch);
  at.dloss = launch.in<float>(3);
  at.loss = launch.out<float>(0);
  at.dhidden = launch.outputs[1];
  at.acc = op.accumulate ? launch.outputs[2] : nullptr;
  return at;
}

template <class Op>
std::unique_ptr<Kernel> plan_linear(const OpView& op, const Device& device) {
  const auto attributes = std::get<Op>(op.node.op);
  const LinearLoss loss(op, slopes_of(attributes), device);
  return make_kernel(loss.workspace_bytes(), [=](const LaunchArgs& launch) {
    loss.launch(operands_of(attributes, launch));
  });
}

template <class Op>
std::string linear_numerics(const OpView& op, const Device& device) {
  const LinearLoss loss(op, slopes_of(std::get<Op>(op.node.op)), device);
  return loss.numerics();
}

template <class Op>
std::vector<Candidate> linear_candidates(std::string_view name) {
  return {{.name = name,
           .refuses = never_refuses,
           .numerics = linear_numerics<Op>,
           .plan = plan_linear<Op>}};
}

}  // namespace

std::vector<Candidate> family_candidates(const ir::LinearCrossEntropy&) {
  return linear_candidates<ir::LinearCrossEntropy>("linear_cross_entropy");
}

std::vector<Candidate> family_candidates(const ir::LinearCrossEntropyGrad&) {
  return linear_candidates<ir::LinearCrossEntropyGrad>("linear_cross_entropy_grad");
}

std::vector<Candidate> family_candidates(const ir::LinearCrossEntropyStep&) {
  return linear_candidates<ir::LinearCrossEntropyStep>("linear_cross_entropy_step");
}

std::vector<Candidate> family_candidates(const ir::LogProbability&) {
  return one_candidate("log_probability", [](const OpView& op, const Device&) {
    const std::int64_t rows = op.input_dim(0, 0), cols = op.input_dim(0, 1);
    return make_kernel(0, [=](const LaunchArgs& launch) {
      logit_rows({.logits = launch.in<float>(0),
                  .rows = rows,
                  .cols = cols,
                  .labels = launch.in<std::int32_t>(1),
                  .log_probability = launch.out<float>(0)},
                 launch.stream);
    });
  });
}

}  // namespace parhelion::exec::cuda
