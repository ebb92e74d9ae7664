#pragma once

#include "base/error.h"
#include "ir/expect_error.h"
#include "ir/op.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace parhelion::ir {

/// The dim that prints as `text`: a number, or a symbol with an optional "+1".
inline Dim dim_from_text(std::string_view text) {
  for (std::int64_t i = 1; i < kSymbolCount; ++i) {
    const auto symbol = static_cast<Symbol>(i);
    if (text == name(symbol)) return symbol;
    if (text == std::string(name(symbol)) + "+1") return Dim(symbol, 1, 1);
  }
  return std::stoll(std::string(text));
}

/// The type that prints as `text`, such as `bf16[tokens, 4]`.
inline TensorType type_from_text(std::string_view text) {
  const std::size_t open = text.find('[');
  Shape shape;
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(", ");
    shape.push_back(dim_from_text(rest.substr(0, comma)));
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 2);
  }
  return TensorType(kind_from_name(text.substr(0, open)).value(), shape);
}

inline std::vector<TensorType> types_from_text(const std::vector<std::string_view>& texts) {
  std::vector<TensorType> types;
  for (const std::string_view text : texts) types.push_back(type_from_text(text));
  return types;
}

/// An op with operands that one of its checks refuses.
struct Refusal {
  Op op;
  std::vector<std::string_view> inputs;
  std::string message;
};

inline void expect_refusals(const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.message);
    expect_error(ErrorKind::invalid, refusal.message,
                 [&] { infer(refusal.op, types_from_text(refusal.inputs)); });
  }
}

/// An op with operands that its checks accept.
struct LegalCase {
  Op op;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
};

/// At least one case for each family; symbolic where a family allows it.
inline std::vector<LegalCase> legal_cases() {
  return {
      {MatMul{}, {"f32[tokens, 3]", "bf16[3, 4]"}, {"f32[tokens, 4]"}},
      {MatMul{.transpose_a = true, .transpose_b = true, .out = Kind::bf16},
       {"bf16[3, rows]", "bf16[4, 3]"},
       {"bf16[rows, 4]"}},
      {MatMul{.transpose_b = true, .bias = true},
       {"f32[tokens, 3]", "f32[4, 3]", "bf16[4]"},
       {"f32[tokens, 4]"}},
      {MatMul{.transpose_a = true, .accumulate = true},
       {"f32[tokens, 3]", "f32[tokens, 4]", "f32[3, 4]"},
       {"f32[3, 4]"}},
      {Embedding{}, {"i32[tokens]", "bf16[8, 4]"}, {"bf16[tokens, 4]"}},
      {EmbeddingGrad{}, {"i32[tokens]", "bf16[tokens, 4]", "f32[8, 4]"}, {"f32[8, 4]"}},
      {RmsNorm{}, {"bf16[tokens, 2, 4]", "bf16[4]"}, {"bf16[tokens, 2, 4]"}},
      {RmsNormGradInput{}, {"bf16[tokens, 4]", "bf16[4]", "bf16[tokens, 4]"}, {"bf16[tokens, 4]"}},
      {RmsNormGradWeight{}, {"bf16[tokens, 4]", "bf16[tokens, 4]", "f32[4]"}, {"f32[4]"}},
      {AddRmsNorm{},
       {"f32[tokens, 4]", "f32[tokens, 4]", "f32[4]"},
       {"f32[tokens, 4]", "f32[tokens, 4]"}},
      {RopeTable{.positions = 16, .dim = 8}, {}, {"f32[16, 8]"}},
      {Rope{}, {"bf16[tokens, 2, 8]", "i32[tokens]", "f32[16, 8]"}, {"bf16[tokens, 2, 8]"}},
      {Attention{},
       {"bf16[tokens, 4, 8]", "bf16[tokens, 2, 8]", "bf16[tokens, 2, 8]", "i32[documents+1]"},
       {"bf16[tokens, 4, 8]", "f32[tokens, 4]"}},
      {AttentionGrad{},
       {"f32[tokens, 4, 8]", "f32[tokens, 2, 8]", "f32[tokens, 2, 8]", "f32[tokens, 4, 8]",
        "f32[tokens, 4]", "f32[tokens, 4, 8]", "i32[documents+1]"},
       {"f32[tokens, 4, 8]", "f32[tokens, 2, 8]", "f32[tokens, 2, 8]"}},
      {PagedAttention{},
       {"bf16[tokens, 4, 8]", "bf16[pages, 16, 2, 8]", "bf16[pages, 16, 2, 8]",
        "i32[rows, pages_per_row]", "i32[rows+1]", "i32[rows]"},
       {"bf16[tokens, 4, 8]"}},
      {PageWrite{},
       {"bf16[tokens, 2, 8]", "i64[tokens]", "bf16[pages, 16, 2, 8]"},
       {"bf16[pages, 16, 2, 8]"}},
      {Swiglu{}, {"bf16[tokens, 4]", "bf16[tokens, 4]"}, {"bf16[tokens, 4]"}},
      {SwigluGrad{},
       {"f32[tokens, 4]", "f32[tokens, 4]", "f32[tokens, 4]"},
       {"f32[tokens, 4]", "f32[tokens, 4]"}},
      {GateUp{}, {"bf16[tokens, 3]", "bf16[5, 3]", "bf16[5, 3]"}, {"bf16[tokens, 5]"}},
      {Binary{}, {"bf16[tokens, 4]", "bf16[tokens, 4]"}, {"bf16[tokens, 4]"}},
      {Cast{Kind::bf16}, {"f32[tokens]"}, {"bf16[tokens]"}},
      {Reduce{ReduceFunction::mean, 1}, {"f32[rows, 4, 2]"}, {"f32[rows]"}},
      {Reduce{ReduceFunction::max, 0}, {"f32[tokens]"}, {"f32[]"}},
      {Broadcast{.shape = {4, 2}}, {"f32[rows]"}, {"f32[rows, 4, 2]"}},
      {AccumulateRows{}, {"bf16[tokens, 4]", "f32[4]"}, {"f32[4]"}},
      {Fill{.kind = Kind::bf16, .shape = {Symbol::rows, 2}}, {}, {"bf16[rows, 2]"}},
      {Reshape{{Symbol::tokens, 8}}, {"i32[tokens, 2, 4]"}, {"i32[tokens, 8]"}},
      {LinearCrossEntropy{},
       {"bf16[tokens, 4]", "bf16[9, 4]", "i32[tokens]"},
       {"f32[tokens]", "f32[tokens]"}},
      {LinearCrossEntropyGrad{},
       {"bf16[tokens, 4]", "bf16[9, 4]", "i32[tokens]", "f32[tokens]", "f32[tokens]", "f32[9, 4]"},
       {"bf16[tokens, 4]", "f32[9, 4]"}},
      {LogProbability{}, {"f32[rows, 9]", "i32[rows]"}, {"f32[rows]"}},
      {Sample{},
       {"f32[rows, 9]", "f32[rows]", "i32[rows]", "f32[rows]", "f32[rows]", "u64[rows]",
        "u64[rows]"},
       {"i32[rows]", "f32[rows]"}},
      {AdamUpdate{},
       {"bf16[4, 2]", "f32[4, 2]", "f32[4, 2]", "f32[4, 2]", "f32[]", "f32[]", "f32[2]", "u64[]"},
       {"bf16[4, 2]", "f32[4, 2]", "f32[4, 2]"}},
      {AdamUpdate{.amsgrad = true, .master = true},
       {"bf16[4]", "f32[4]", "bf16[4]", "bf16[4]", "bf16[4]", "f32[4]", "f32[]", "f32[]", "f32[2]",
        "u64[]"},
       {"bf16[4]", "bf16[4]", "bf16[4]", "bf16[4]", "f32[4]"}},
      {SgdUpdate{}, {"bf16[4]", "f32[4]", "f32[]", "f32[]", "f32[]", "u64[]"}, {"bf16[4]"}},
      {SgdUpdate{.momentum = 0.9},
       {"f32[4]", "f32[4]", "bf16[4]", "f32[]", "f32[]", "f32[]", "u64[]"},
       {"f32[4]", "bf16[4]"}},
      {SgdUpdate{.momentum = 0.9, .master = true},
       {"bf16[4]", "f32[4]", "f32[4]", "f32[4]", "f32[]", "f32[]", "f32[]", "u64[]"},
       {"bf16[4]", "f32[4]", "f32[4]"}},
      {Accumulate{}, {"bf16[4, 2]", "f32[4, 2]"}, {"f32[4, 2]"}},
      {Clear{}, {"f32[4, 2]"}, {"f32[4, 2]"}},
      {SquaredNorm{}, {"f32[4, 2]"}, {"f32[]"}},
      {StepScale{}, {"f32[]", "f32[]", "f32[]"}, {"f32[]", "f32[]", "f32[]", "bool8[]"}},
      {Scale{}, {"bf16[tokens, 4]"}, {"bf16[tokens, 4]"}},
      {Dropout{}, {"bf16[tokens, 4]", "u64[]"}, {"bf16[tokens, 4]"}},
      {LinearCrossEntropyStep{},
       {"bf16[tokens, 4]", "bf16[9, 4]", "i32[tokens]", "f32[tokens]", "f32[9, 4]"},
       {"f32[tokens]", "bf16[tokens, 4]", "f32[9, 4]"}},
      {LinearCrossEntropyStep{.accumulate = false},
       {"bf16[tokens, 4]", "bf16[9, 4]", "i32[tokens]", "f32[tokens]"},
       {"f32[tokens]", "bf16[tokens, 4]"}},
      {FeedTokens{}, {"i32[tokens]", "i32[tokens]", "i32[6]"}, {"i32[tokens]"}},
      {KeepTokens{}, {"i32[rows]", "i32[rows]", "i32[6]"}, {"i32[6]"}},
      {CopyPages{}, {"i32[4]", "i32[4]", "bf16[pages, 16, 2, 8]"}, {"bf16[pages, 16, 2, 8]"}},
      {EditLogits{},
       {"f32[rows, 70]", "i32[rows+1]", "i32[90]", "f32[90]", "f32[90]", "f32[90]", "i32[rows, 3]"},
       {"f32[rows, 70]"}},
      {TopLogProbabilities{5}, {"f32[rows, 9]"}, {"i32[rows, 5]", "f32[rows, 5]"}},
  };
}

}  // namespace parhelion::ir
