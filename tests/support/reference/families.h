#pragma once

#include "ir/op.h"
#include "support/reference/wide.h"

namespace parhelion::test {

using WideInputs = std::vector<Wide>;
using WideOutputs = std::vector<Wide>;

WideOutputs reference(const ir::MatMul& op, const WideInputs& in);
WideOutputs reference(const ir::Embedding& op, const WideInputs& in);
WideOutputs reference(const ir::EmbeddingGrad& op, const WideInputs& in);
WideOutputs reference(const ir::RmsNorm& op, const WideInputs& in);
WideOutputs reference(const ir::RmsNormGradInput& op, const WideInputs& in);
WideOutputs reference(const ir::RmsNormGradWeight& op, const WideInputs& in);
WideOutputs reference(const ir::AddRmsNorm& op, const WideInputs& in);
WideOutputs reference(const ir::RopeTable& op, const WideInputs& in);
WideOutputs reference(const ir::Rope& op, const WideInputs& in);
WideOutputs reference(const ir::Attention& op, const WideInputs& in);
WideOutputs reference(const ir::AttentionGrad& op, const WideInputs& in);
WideOutputs reference(const ir::PagedAttention& op, const WideInputs& in);
WideOutputs reference(const ir::PageWrite& op, const WideInputs& in);
WideOutputs reference(const ir::Swiglu& op, const WideInputs& in);
WideOutputs reference(const ir::SwigluGrad& op, const WideInputs& in);
WideOutputs reference(const ir::GateUp& op, const WideInputs& in);
WideOutputs reference(const ir::Binary& op, const WideInputs& in);
WideOutputs reference(const ir::Cast& op, const WideInputs& in);
WideOutputs reference(const ir::Reduce& op, const WideInputs& in);
WideOutputs reference(const ir::Broadcast& op, const WideInputs& in);
WideOutputs reference(const ir::AccumulateRows& op, const WideInputs& in);
WideOutputs reference(const ir::Fill& op, const WideInputs& in);
WideOutputs reference(const ir::Reshape& op, const WideInputs& in);
WideOutputs reference(const ir::LinearCrossEntropy& op, const WideInputs& in);
WideOutputs reference(const ir::LinearCrossEntropyGrad& op, const WideInputs& in);
WideOutputs reference(const ir::LinearCrossEntropyStep& op, const WideInputs& in);
WideOutputs reference(const ir::LogProbability& op, const WideInputs& in);
WideOutputs reference(const ir::Sample& op, const WideInputs& in);
WideOutputs reference(const ir::AdamUpdate& op, const WideInputs& in);
WideOutputs reference(const ir::SgdUpdate& op, const WideInputs& in);
WideOutputs reference(const ir::Accumulate& op, const WideInputs& in);
WideOutputs reference(const ir::Clear& op, const WideInputs& in);
WideOutputs reference(const ir::SquaredNorm& op, const WideInputs& in);
WideOutputs reference(const ir::StepScale& op, const WideInputs& in);
WideOutputs reference(const ir::Scale& op, const WideInputs& in);
WideOutputs reference(const ir::Dropout& op, const WideInputs& in);
WideOutputs reference(const ir::FeedTokens& op, const WideInputs& in);
WideOutputs reference(const ir::KeepTokens& op, const WideInputs& in);
WideOutputs reference(const ir::CopyPages& op, const WideInputs& in);
WideOutputs reference(const ir::EditLogits& op, const WideInputs& in);
WideOutputs reference(const ir::TopLogProbabilities& op, const WideInputs& in);

/// log(sum(exp(x[first .. first + count - 1]))).
double wide_log_sum_exp(const Wide& x, std::int64_t first, std::int64_t count);

}  // namespace parhelion::test
