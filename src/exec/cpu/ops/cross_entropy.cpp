#include "exec/cpu/kernels/log_sum_exp.h"
#include "exec/cpu/ops/families.h"
#include "exec/cpu/ops/product.h"

#include <algorithm>

namespace parhelion::exec::cpu {
namespace {

/// Rows of logits that exist at one time: enough to hide the packing of raw weights.
constexpr std::int64_t kPackedLogitRows = 64;
constexpr std::int64_t kRawLogitRows = 256;

/// The matmuls of a chunk of rows, addresses missing.
struct LinearChunk {
  std::int64_t tokens, hidden, vocabulary, rows;
  ir::Kind kind, weight_kind;
  Device device;
  bool packed;

  MatmulArgs logits(std::int64_t chunk_rows) const {
    MatmulArgs args;
    args.a = {.kind = kind, .rows = chunk_rows, .cols = hidden, .row_stride = hidden};
    if (packed) {
      args.b = PackedView{.kind = weight_kind, .k = hidden, .n = vocabulary};
    } else {
      args.b = MatrixView{.kind = weight_kind,
                          .rows = hidden,
                          .cols = vocabulary,
                          .row_stride = hidden,
                          .transposed = true};
    }
    args.c = {.kind = ir::Kind::f32, .row_stride = vocabulary};
    return with_device(args);
  }

  /// dhidden = dz weight.
  MatmulArgs hidden_gradient(std::int64_t chunk_rows) const {
    MatmulArgs args;
    args.a = {.kind = kind, .rows = chunk_rows, .cols = vocabulary, .row_stride = vocabulary};
    args.b =
        MatrixView{.kind = weight_kind, .rows = vocabulary, .cols = hidden, .row_stride = hidden};
    args.c = {.kind = kind, .row_stride = hidden};
    return with_device(args);
  }

  /// acc += dz^T hidden.
  MatmulArgs weight_gradient(std::int64_t chunk_rows) const {
    MatmulArgs args;
    args.a = {.kind = kind,
              .rows = vocabulary,
              .cols = chunk_rows,
              .row_stride = vocabulary,
              .transposed = true};
    args.b = MatrixView{.kind = kind, .rows = chunk_rows, .cols = hidden, .row_stride = hidden};
    args.c = {.kind = ir::Kind::f32, .row_stride = hidden, .mode = OutputMode::accumulate};
    return with_device(args);
  }

  std::int64_t logit_bytes() const {
    return aligned(rows * vocabulary * std::int64_t{sizeof(float)});
  }

  /// Bytes for a product of chunks, the last and shorter one included: fewer rows may need more.
  template <class Product>
  std::int64_t workspace(const Product& product) const {
    const std::int64_t last = tokens % rows;
    return std::max(workspace_of(product(rows)), last == 0 ? 0 : workspace_of(product(last)));
  }

 private:
  static std::int64_t workspace_of(const MatmulArgs& args) {
    return aligned(product_workspace_bytes(args));
  }

  MatmulArgs with_device(MatmulArgs args) const {
    args.num_threads = device.threads;
    args.tier = device.tier;
    return args;
  }
};

LinearChunk linear_chunk(const OpView& op, const Device& device, bool packed) {
  const std::int64_t tokens = op.input_dim(0, 0);
  return {.tokens = tokens,
          .hidden = op.input_dim(0, 1),
          .vocabulary = op.input_dim(1, 0),
          .rows = std::clamp<std::int64_t>(tokens, 1, packed ? kPackedLogitRows : kRawLogitRows),
          .kind = op.inputs[0].kind(),
          .weight_kind = op.inputs[1].kind(),
          .device = device,
          .packed = packed};
}

std::unique_ptr<Kernel> plan_linear_cross_entropy(const OpView& op, const Device& device,
                                                  bool packed) {
  const LinearChunk chunk = linear_chunk(op, device, packed);
  const std::int64_t bytes =
      chunk.logit_bytes() + chunk.workspace([&](std::int64_t rows) { return chunk.logits(rows); });
  return make_kernel(bytes, [=](const LaunchArgs& launch) {
    auto* logits = reinterpret_cast<float*>(launch.workspace.data());
    const auto scratch = launch.workspace.subspan(static_cast<std::size_t>(chunk.logit_bytes()));
    const std::int64_t row_bytes = chunk.hidden * ir::element(chunk.kind).block_bytes;
    for (std::int64_t first = 0; first < chunk.tokens; first += chunk.rows) {
      const std::int64_t rows = std::min(chunk.rows, chunk.tokens - first);
      run_product(chunk.logits(rows), launch.inputs[0] + first * row_bytes, launch.inputs[1],
                  logits, scratch);
      float* loss = launch.out<float>(0) + first;
      log_probability({.logits = logits, .rows = rows, .cols = chunk.vocabulary},
                      launch.in<std::int32_t>(2) + first, loss, launch.out<float>(1) + first,
                      device.threads);
      for (std::int64_t r = 0; r < rows; ++r) loss[r] = 0.0f - loss[r];
    }
  });
}

std::int64_t linear_grad_scratch_bytes(const LinearChunk& chunk, bool accumulates) {
  const std::int64_t bytes =
      std::max(chunk.workspace([&](std::int64_t rows) { return chunk.logits(rows); }),
               chunk.workspace([&](std::int64_t rows) { return chunk.hidden_gradient(rows); }));
  if (!accumulates) return bytes;
  return std::max(bytes,
                  chunk.workspace([&](std::int64_t rows) { return chunk.weight_gradient(rows); }));
}

/// Addresses of the gradient of some rows. Of the log-sum-exp, `lse` is made where there is a loss.
struct LinearGradRows {
  std::int64_t rows;
  const std::byte* hidden;
  const std::byte* weight;
  const std::int32_t* labels;
  const float* dloss;
  float* loss;  // null: `lse` is given
  float* lse;
  std::byte* dhidden;
  std::byte* acc;  // null: the weight is not trained
};

/// The gradient of chunks of rows, in a workspace that it divides.
struct LinearGrad {
  LinearChunk chunk;
  std::int64_t dz_bytes, lse_bytes, scratch_bytes;

  LinearGrad(const OpView& op, const Device& device, bool accumulates, bool makes_lse)
      : chunk(linear_chunk(op, device, false)),
        dz_bytes(chunk.kind == ir::Kind::f32 ? 0 : chunk.logit_bytes()),
        lse_bytes(makes_lse ? aligned(chunk.rows * std::int64_t{sizeof(float)}) : 0),
        scratch_bytes(linear_grad_scratch_bytes(chunk, accumulates)) {}

  std::int64_t workspace_bytes() const {
    return chunk.logit_bytes() + dz_bytes + lse_bytes + scratch_bytes;
  }
  float* lse(std::span<std::byte> workspace) const {
    return reinterpret_cast<float*>(workspace.data() + chunk.logit_bytes() + dz_bytes);
  }
  std::int64_t row_bytes() const { return chunk.hidden * ir::element(chunk.kind).block_bytes; }

  void run(const LinearGradRows& at, std::span<std::byte> workspace) const {
    std::byte* logits = workspace.data();
    std::byte* dz = dz_bytes == 0 ? logits : logits + chunk.logit_bytes();
    const auto scratch = workspace.last(static_cast<std::size_t>(scratch_bytes));
    run_product(chunk.logits(at.rows), at.hidden, at.weight, logits, scratch);
    const LogitRows rows{.logits = reinterpret_cast<const float*>(logits),
                         .rows = at.rows,
                         .cols = chunk.vocabulary};
    if (at.loss != nullptr) {
      log_probability(rows, at.labels, at.loss, at.lse, chunk.device.threads);
      for (std::int64_t r = 0; r < at.rows; ++r) at.loss[r] = 0.0f - at.loss[r];
    }
    cross_entropy_grad({.rows = rows,
                        .lse = at.lse,
                        .labels = at.labels,
                        .dloss = at.dloss,
                        .d_kind = chunk.kind,
                        .d = dz},
                       chunk.device.threads);
    run_product(chunk.hidden_gradient(at.rows), dz, at.weight, at.dhidden, scratch);
    if (at.acc != nullptr)
      run_product(chunk.weight_gradient(at.rows), dz, at.hidden, at.acc, scratch);
  }
};

std::unique_ptr<Kernel> plan_linear_cross_entropy_grad(const OpView& op, const Device& device) {
  const bool accumulates = std::get<ir::LinearCrossEntropyGrad>(op.node.op).accumulate;
  const LinearGrad grad(op, device, accumulates, /*makes_lse=*/false);
  return make_kernel(grad.workspace_bytes(), [=](const LaunchArgs& launch) {
    for (std::int64_t first = 0; first < grad.chunk.tokens; first += grad.chunk.rows) {
      grad.run({.rows = std::min(grad.chunk.rows, grad.chunk.tokens - first),
                .hidden = launch.inputs[0] + first * grad.row_bytes(),
                .weight = launch.inputs[1],
                .labels = launch.in<std::int32_t>(2) + first,
                .dloss = launch.in<float>(4) + first,
                .loss = nullptr,
                .lse = reinterpret_cast<float*>(launch.inputs[3]) + first,
                .dhidden = launch.outputs[0] + first * grad.row_bytes(),
                .acc = accumulates ? launch.outputs[1] : nullptr},
               launch.workspace);
    }
  });
}

std::unique_ptr<Kernel> plan_linear_cross_entropy_step(const OpView& op, const Device& device) {
  const bool accumulates = std::get<ir::LinearCrossEntropyStep>(op.node.op).accumulate;
  const LinearGrad grad(op, device, accumulates, /*makes_lse=*/true);
  return make_kernel(grad.workspace_bytes(), [=](const LaunchArgs& launch) {
    for (std::int64_t first = 0; first < grad.chunk.tokens; first += grad.chunk.rows) {
      grad.run({.rows = std::min(grad.chunk.rows, grad.chunk.tokens - first),
                .hidden = launch.inputs[0] + first * grad.row_bytes(),
                .weight = launch.inputs[1],
                .labels = launch.in<std::int32_t>(2) + first,
                .dloss = launch.in<float>(3) + first,
                .loss = launch.out<float>(0) + first,
                .lse = grad.lse(launch.workspace),
                .dhidden = launch.outputs[1] + first * grad.row_bytes(),
                .acc = accumulates ? launch.outputs[2] : nullptr},
               launch.workspace);
    }
  });
}

std::string_view refuses_packed_linear(const OpView& op, const Device&) {
  return op.frozen[1] ? "" : "the weight is no frozen parameter";
}

}  // namespace

std::vector<Candidate> family_candidates(const ir::LinearCrossEntropy&) {
  return {{.name = "linear_cross_entropy.packed",
           .refuses = refuses_packed_linear,
           .numerics = product_numerics,
           .plan = [](const OpView& op,
                      const Device& device) { return plan_linear_cross_entropy(op, device, true); },
           .packed = {1}},
          {.name = "linear_cross_entropy",
           .refuses = never_refuses,
           .numerics = product_numerics,
           .plan = [](const OpView& op, const Device& device) {
             return plan_linear_cross_entropy(op, device, false);
           }}};
}

std::vector<Candidate> family_candidates(const ir::LinearCrossEntropyGrad&) {
  return {{.name = "linear_cross_entropy_grad",
           .refuses = never_refuses,
           .numerics = product_numerics,
           .plan = plan_linear_cross_entropy_grad}};
}

std::vector<Candidate> family_candidates(const ir::LinearCrossEntropyStep&) {
  return {{.name = "linear_cross_entropy_step",
           .refuses = never_refuses,
           .numerics = product_numerics,
           .plan = plan_linear_cross_entropy_step}};
}

std::vector<Candidate> family_candidates(const ir::LogProbability&) {
  return one_candidate("log_probability", [](const OpView& op, const Device& device) {
    const LogitRows rows{.rows = op.input_dim(0, 0), .cols = op.input_dim(0, 1)};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      LogitRows bound = rows;
      bound.logits = launch.in<float>(0);
      log_probability(bound, launch.in<std::int32_t>(1), launch.out<float>(0), nullptr,
                      device.threads);
    });
  });
}

}  // namespace parhelion::exec::cpu
