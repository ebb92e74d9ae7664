#pragma once

#include "exec/cuda/candidate.h"

#include <vector>

namespace parhelion::exec::cuda {

/// The candidates of each family, best first. A family without an overload does not compile.
std::vector<Candidate> family_candidates(const ir::MatMul& op);
std::vector<Candidate> family_candidates(const ir::GateUp& op);
std::vector<Candidate> family_candidates(const ir::Embedding& op);
std::vector<Candidate> family_candidates(const ir::EmbeddingGrad& op);
std::vector<Candidate> family_candidates(const ir::RmsNorm& op);
std::vector<Candidate> family_candidates(const ir::RmsNormGradInput& op);
std::vector<Candidate> family_candidates(const ir::RmsNormGradWeight& op);
std::vector<Candidate> family_candidates(const ir::AddRmsNorm& op);
std::vector<Candidate> family_candidates(const ir::RopeTable& op);
std::vector<Candidate> family_candidates(const ir::Rope& op);
std::vector<Candidate> family_candidates(const ir::Attention& op);
std::vector<Candidate> family_candidates(const ir::AttentionGrad& op);
std::vector<Candidate> family_candidates(const ir::PagedAttention& op);
std::vector<Candidate> family_candidates(const ir::PageWrite& op);
std::vector<Candidate> family_candidates(const ir::Swiglu& op);
std::vector<Candidate> family_candidates(const ir::SwigluGrad& op);
std::vector<Candidate> family_candidates(const ir::Binary& op);
std::vector<Candidate> family_candidates(const ir::Cast& op);
std::vector<Candidate> family_candidates(const ir::Reduce& op);
std::vector<Candidate> family_candidates(const ir::Broadcast& op);
std::vector<Candidate> family_candidates(const ir::AccumulateRows& op);
std::vector<Candidate> family_candidates(const ir::Fill& op);
std::vector<Candidate> family_candidates(const ir::Reshape& op);
std::vector<Candidate> family_candidates(const ir::LinearCrossEntropy& op);
std::vector<Candidate> family_candidates(const ir::LinearCrossEntropyGrad& op);
std::vector<Candidate> family_candidates(const ir::LogProbability& op);
std::vector<Candidate> family_candidates(const ir::Sample& op);
std::vector<Candidate> family_candidates(const ir::AdamUpdate& op);
std::vector<Candidate> family_candidates(const ir::SgdUpdate& op);
std::vector<Candidate> family_candidates(const ir::Accumulate& op);
std::vector<Candidate> family_candidates(const ir::Clear& op);
std::vector<Candidate> family_candidates(const ir::SquaredNorm& op);
std::vector<Candidate> family_candidates(const ir::StepScale& op);
std::vector<Candidate> family_candidates(const ir::Scale& op);
std::vector<Candidate> family_candidates(const ir::Dropout& op);
std::vector<Candidate> family_candidates(const ir::LinearCrossEntropyStep& op);
std::vector<Candidate> family_candidates(const ir::FeedTokens& op);
std::vector<Candidate> family_candidates(const ir::KeepTokens& op);
std::vector<Candidate> family_candidates(const ir::CopyPages& op);
std::vector<Candidate> family_candidates(const ir::EditLogits& op);
std::vector<Candidate> family_candidates(const ir::TopLogProbabilities& op);

/// The only candidate of a family whose one kernel accepts whatever the op's checks allow.
std::vector<Candidate> one_candidate(std::string_view name,
                                     std::unique_ptr<Kernel> (*plan)(const OpView& op,
                                                                     const Device& device));

inline constexpr std::int64_t kWorkspaceAlignment = 256;

/// Bytes rounded up to the alignment of workspaces.
std::int64_t aligned(std::int64_t bytes);

}  // namespace parhelion::exec::cuda
