#pragma once

#include "ir/ops/adapt.h"
#include "ir/ops/attention.h"
#include "ir/ops/copy_pages.h"
#include "ir/ops/cross_entropy.h"
#include "ir/ops/cross_entropy_step.h"
#include "ir/ops/drawn_tokens.h"
#include "ir/ops/edit_logits.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/embedding.h"
#include "ir/ops/mat_mul.h"
#include "ir/ops/page_write.h"
#include "ir/ops/paged_attention.h"
#include "ir/ops/reduce.h"
#include "ir/ops/rms_norm.h"
#include "ir/ops/rope.h"
#include "ir/ops/sample.h"
#include "ir/ops/step.h"
#include "ir/ops/swiglu.h"
#include "ir/ops/tensor.h"
#include "ir/ops/top_log_probabilities.h"
#include "ir/ops/update.h"

#include <string>
#include <variant>
#include <vector>

namespace parhelion::ir {

/// The closed set of op families. Each struct's comment is its specification.
using Op =
    std::variant<MatMul, Embedding, EmbeddingGrad, RmsNorm, RmsNormGradInput, RmsNormGradWeight,
                 AddRmsNorm, RopeTable, Rope, Attention, AttentionGrad, PagedAttention, PageWrite,
                 Swiglu, SwigluGrad, GateUp, Binary, Cast, Reduce, Broadcast, AccumulateRows, Fill,
                 Reshape, LinearCrossEntropy, LinearCrossEntropyGrad, LogProbability, Sample,
                 AdamUpdate, SgdUpdate, Accumulate, Clear, SquaredNorm, StepScale, Scale, Dropout,
                 LinearCrossEntropyStep, FeedTokens, KeepTokens, CopyPages, EditLogits,
                 TopLogProbabilities>;

/// The six answers of a family, for any op.
Traits traits(const Op& op);
std::vector<Factor> factors(const Op& op, Types inputs);
std::vector<TensorType> infer(const Op& op, Types inputs);
void gradient(const Op& op, GradientContext& context);
Cost cost(const Op& op, Types inputs, Types outputs);

/// The family's name and its attributes, such as `rms_norm(eps=1e-06)`.
std::string to_string(const Op& op);

/// The op with every symbolic dim of its attributes replaced by its number.
Op evaluate(const Op& op, const Capacities& capacities);

}  // namespace parhelion::ir
