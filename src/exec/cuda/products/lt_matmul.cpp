#include "exec/cuda/products/lt_matmul.h"

#include "exec/cuda/check.h"
#include "ir/memory_plan.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <utility>

namespace parhelion::exec::cuda {
namespace {

cudaDataType_t lt_type(ir::Kind kind) { return kind == ir::Kind::bf16 ? CUDA_R_16BF : CUDA_R_32F; }

/// A row-major matrix of `rows` rows is a column-major one of as many columns.
cublasLtMatrixLayout_t lt_layout(ir::Kind kind, std::int64_t rows, std::int64_t columns) {
  cublasLtMatrixLayout_t made = nullptr;
  check(cublasLtMatrixLayoutCreate(&made, lt_type(kind), static_cast<std::uint64_t>(columns),
                                   static_cast<std::uint64_t>(rows), columns),
        "cublasLtMatrixLayoutCreate");
  return made;
}

template <class T>
void set_lt(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute,
            const T& value) {
  check(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value),
        "cublasLtMatmulDescSetAttribute");
}

template <class T>
void set_lt(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
            const T& value) {
  check(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
        "cublasLtMatmulPreferenceSetAttribute");
}

/// Owns what the search may use.
class LtPreference {
 public:
  explicit LtPreference(Split split) {
    check(cublasLtMatmulPreferenceCreate(&preference_), "cublasLtMatmulPreferenceCreate");
    set_lt(preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
           static_cast<std::size_t>(LtMatmul::kMostWorkspace));
    const auto alignment = static_cast<std::uint32_t>(ir::kArenaAlignment);
    for (const auto each :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      set_lt(preference_, each, alignment);
    if (split == Split::never) {
      set_lt(preference_, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
             static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_NONE));
    }
  }
  ~LtPreference() { cublasLtMatmulPreferenceDestroy(preference_); }
  LtPreference(const LtPreference&) = delete;
  LtPreference& operator=(const LtPreference&) = delete;
  cublasLtMatmulPreference_t get() const { return preference_; }

 private:
  cublasLtMatmulPreference_t preference_ = nullptr;
};

cublasLtMatmulAlgo_t lt_algo(const LtAlgorithm& algorithm) {
  cublasLtMatmulAlgo_t algo;
  static_assert(sizeof algo == sizeof algorithm.bytes);
  std::memcpy(&algo, algorithm.bytes.data(), sizeof algo);
  return algo;
}

std::uint32_t lt_config(const cublasLtMatmulAlgo_t& algo,
                        cublasLtMatmulAlgoConfigAttributes_t attribute) {
  std::uint32_t wide = 0;
  std::uint16_t narrow = 0;
  std::size_t written = 0;
  if (cublasLtMatmulAlgoConfigGetAttribute(&algo, attribute, &wide, sizeof wide, &written) ==
      CUBLAS_STATUS_SUCCESS)
    return wide;
  cublasLtMatmulAlgoConfigGetAttribute(&algo, attribute, &narrow, sizeof narrow, &written);
  return narrow;
}

bool is_split(const cublasLtMatmulAlgo_t& algo) {
  return lt_config(algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM) > 1 ||
         lt_config(algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME) != CUBLASLT_REDUCTION_SCHEME_NONE;
}

}  // namespace

std::string in_words(const ProductShape& shape, WithRows rows) {
  const std::string m = rows == WithRows::yes ? fmt::format("m{}.", shape.m) : "";
  return fmt::format("{}{}.{}n{}.k{}.{}.{}.{}{}", shape.transpose_a ? 't' : 'n',
                     shape.transpose_b ? 't' : 'n', m, shape.n, shape.k, ir::name(shape.a),
                     ir::name(shape.b), ir::name(shape.out), shape.accumulate ? ".add" : "");
}

std::string in_words(const LtAlgorithm& algorithm) {
  const cublasLtMatmulAlgo_t algo = lt_algo(algorithm);
  return fmt::format("id{}.tile{}.stages{}.inner{}.cluster{}.custom{}.split{}",
                     lt_config(algo, CUBLASLT_ALGO_CONFIG_ID),
                     lt_config(algo, CUBLASLT_ALGO_CONFIG_TILE_ID),
                     lt_config(algo, CUBLASLT_ALGO_CONFIG_STAGES_ID),
                     lt_config(algo, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID),
                     lt_config(algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID),
                     lt_config(algo, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION),
                     lt_config(algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
}

LtMatmul::LtMatmul(cublasLtHandle_t handle, const ProductShape& shape, F32Products f32_products)
    : handle_(handle), shape_(shape) {
  const bool tf32 = f32_products == F32Products::tf32 && shape.a == ir::Kind::f32;
  check(cublasLtMatmulDescCreate(
            &operation_, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "cublasLtMatmulDescCreate");
  set_lt(operation_, CUBLASLT_MATMUL_DESC_TRANSA, shape.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set_lt(operation_, CUBLASLT_MATMUL_DESC_TRANSB, shape.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  first_ = shape.transpose_b ? lt_layout(shape.b, shape.n, shape.k)
                             : lt_layout(shape.b, shape.k, shape.n);
  second_ = shape.transpose_a ? lt_layout(shape.a, shape.k, shape.m)
                              : lt_layout(shape.a, shape.m, shape.k);
  out_ = lt_layout(shape.out, shape.m, shape.n);
}

LtMatmul::~LtMatmul() {
  for (cublasLtMatrixLayout_t each : {first_, second_, out_}) cublasLtMatrixLayoutDestroy(each);
  cublasLtMatmulDescDestroy(operation_);
}

std::vector<LtAlgorithm> LtMatmul::ranked(int count, Split split) const {
  const LtPreference preference(split);
  const auto found =
      std::make_unique<cublasLtMatmulHeuristicResult_t[]>(static_cast<std::size_t>(count));
  int found_count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, operation_, first_, second_, out_, out_,
                                     preference.get(), count, found.get(), &found_count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  std::vector<LtAlgorithm> result;
  for (int i = 0; i < found_count; ++i) {
    const cublasLtMatmulHeuristicResult_t& each = found[static_cast<std::size_t>(i)];
    if (each.state != CUBLAS_STATUS_SUCCESS) continue;
    if (split == Split::never && is_split(each.algo)) continue;
    LtAlgorithm algorithm{.workspace_bytes = static_cast<std::int64_t>(each.workspaceSize)};
    std::memcpy(algorithm.bytes.data(), &each.algo, sizeof each.algo);
    result.push_back(algorithm);
  }
  return result;
}

bool LtMatmul::accept(LtAlgorithm& algorithm) const {
  const cublasLtMatmulAlgo_t algo = lt_algo(algorithm);
  cublasLtMatmulHeuristicResult_t result{};
  const cublasStatus_t status =
      cublasLtMatmulAlgoCheck(handle_, operation_, first_, second_, out_, out_, &algo, &result);
  algorithm.workspace_bytes = static_cast<std::int64_t>(result.workspaceSize);
  return status == CUBLAS_STATUS_SUCCESS && algorithm.workspace_bytes <= kMostWorkspace;
}

void LtMatmul::run(const LtAlgorithm& algorithm, const void* a, const void* b, const void* addend,
                   void* c, void* workspace, cudaStream_t stream) const {
  const float one = 1.0f;
  const float before = shape_.accumulate ? 1.0f : 0.0f;
  const cublasLtMatmulAlgo_t algo = lt_algo(algorithm);
  check(cublasLtMatmul(handle_, operation_, &one, b, first_, a, second_, &before, addend, out_, c,
                       out_, &algo, workspace, static_cast<std::size_t>(algorithm.workspace_bytes),
                       stream),
        "cublasLtMatmul");
}

}  // namespace parhelion::exec::cuda
