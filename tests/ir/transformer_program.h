#pragma once

#include "ir/builder.h"

#include <cstdint>
#include <string>

namespace parhelion::ir {

/// Sizes of a dense decoder for tests.
struct TransformerSize {
  std::int64_t layers = 2;
  std::int64_t hidden = 64;
  std::int64_t heads = 4;
  std::int64_t kv_heads = 2;
  std::int64_t head_dim = 16;
  std::int64_t inner = 176;
  std::int64_t vocabulary = 512;
  Kind kind = Kind::bf16;
  bool head_norms = false;  ///< of queries and keys
  std::int64_t positions = 128;
};

/// Appends a dense decoder with rms norms, rope, grouped heads and SwiGLU, whose head is the
/// embedding table.
class TransformerProgram {
 public:
  TransformerProgram(Program& program, const TransformerSize& size)
      : builder_(program), size_(size) {}

  /// Packed documents; gives the mean loss.
  ValueId add_train() {
    const ValueId labels = tokens_input("labels");
    indptr_ =
        builder_.input("document_indptr", TensorType(Kind::i32, {Dim(Symbol::documents, 1, 1)}));
    const ValueId hidden = add_layers();
    const ValueId losses = builder_.add(LinearCrossEntropy{}, {hidden, table_, labels}).front();
    const ValueId loss = builder_.one(Reduce{ReduceFunction::mean, 0}, {losses});
    builder_.output("loss", loss);
    return loss;
  }

  /// Rows with paged keys and values; ends in the logits of some tokens.
  void add_extend() {
    paged_ = true;
    indptr_ = builder_.input("query_indptr", TensorType(Kind::i32, {Dim(Symbol::rows, 1, 1)}));
    location_ = builder_.input("write_location", TensorType(Kind::i64, {Symbol::tokens}));
    length_ = builder_.input("kv_length", TensorType(Kind::i32, {Symbol::rows}));
    page_table_ =
        builder_.input("page_table", TensorType(Kind::i32, {Symbol::rows, Symbol::pages_per_row}));
    const ValueId index =
        builder_.input("logit_index", TensorType(Kind::i32, {Symbol::logit_rows}));
    const ValueId rows = builder_.one(Embedding{}, {index, add_layers()});
    builder_.output("logits", builder_.one(MatMul{.transpose_b = true}, {rows, table_}));
  }

 private:
  ValueId add_layers() {
    positions_ = tokens_input("positions");
    rope_ =
        builder_.constant("rope", RopeTable{.positions = size_.positions, .dim = size_.head_dim});
    table_ = weight("table", {size_.vocabulary, size_.hidden});
    ValueId x = builder_.one(Embedding{}, {tokens_input("ids"), table_});
    for (std::int64_t layer = 0; layer < size_.layers; ++layer) x = add_layer(x, layer);
    prefix_ = "";
    builder_.set_label("head");
    return builder_.one(RmsNorm{}, {x, weight("norm", {size_.hidden})});
  }

  ValueId add_layer(ValueId x, std::int64_t layer) {
    prefix_ = "layers." + std::to_string(layer) + ".";
    builder_.set_layer(static_cast<std::int32_t>(layer));
    builder_.set_label(prefix_ + "attention");
    const ValueId y = builder_.one(RmsNorm{}, {x, weight("attention_norm", {size_.hidden})});
    x = builder_.one(Binary{BinaryFunction::add}, {x, attention(y)});
    builder_.set_label(prefix_ + "mlp");
    const ValueId z = builder_.one(RmsNorm{}, {x, weight("mlp_norm", {size_.hidden})});
    const ValueId gate = linear(z, "gate", size_.hidden, size_.inner);
    const ValueId up = linear(z, "up", size_.hidden, size_.inner);
    const ValueId h = builder_.one(Swiglu{}, {gate, up});
    return builder_.one(Binary{BinaryFunction::add},
                        {x, linear(h, "down", size_.inner, size_.hidden)});
  }

  ValueId attention(ValueId x) {
    const ValueId q =
        rotated(split(linear(x, "q", size_.hidden, size_.heads * size_.head_dim)), "q_norm");
    const ValueId k =
        rotated(split(linear(x, "k", size_.hidden, size_.kv_heads * size_.head_dim)), "k_norm");
    const ValueId v = split(linear(x, "v", size_.hidden, size_.kv_heads * size_.head_dim));
    const ValueId o = paged_ ? paged(q, k, v)
                             : builder_.add(Attention{.scale = 0.25}, {q, k, v, indptr_}).front();
    const std::int64_t columns = size_.heads * size_.head_dim;
    const ValueId joined = builder_.one(Reshape{{Symbol::tokens, columns}}, {o});
    return linear(joined, "o", columns, size_.hidden);
  }

  ValueId paged(ValueId q, ValueId k, ValueId v) {
    const TensorType pages(size_.kind, {Symbol::pages, 16, size_.kv_heads, size_.head_dim});
    const ValueId keys = builder_.one(PageWrite{}, {k, location_, state("keys", pages)});
    const ValueId values = builder_.one(PageWrite{}, {v, location_, state("values", pages)});
    return builder_.one(PagedAttention{.scale = 0.25},
                        {q, keys, values, page_table_, indptr_, length_});
  }

  ValueId split(ValueId x) {
    const std::int64_t columns = builder_.type(x).shape[1].base;
    return builder_.one(Reshape{{Symbol::tokens, columns / size_.head_dim, size_.head_dim}}, {x});
  }

  ValueId rotated(ValueId x, const std::string& norm) {
    if (size_.head_norms) x = builder_.one(RmsNorm{}, {x, weight(norm, {size_.head_dim})});
    return builder_.one(Rope{}, {x, positions_, rope_});
  }

  ValueId linear(ValueId x, const std::string& name, std::int64_t inputs, std::int64_t outputs) {
    return builder_.one(MatMul{.transpose_b = true, .out = size_.kind},
                        {x, weight(name, {outputs, inputs})});
  }

  ValueId weight(const std::string& name, Shape shape) {
    return builder_.parameter(prefix_ + name, TensorType(size_.kind, std::move(shape)));
  }

  ValueId state(const std::string& name, const TensorType& type) {
    return builder_.state(prefix_ + name, type);
  }

  ValueId tokens_input(const std::string& name) {
    return builder_.input(name, TensorType(Kind::i32, {Symbol::tokens}));
  }

  Builder builder_;
  TransformerSize size_;
  bool paged_ = false;
  std::string prefix_;
  ValueId positions_, rope_, table_, indptr_, location_, length_, page_table_;
};

}  // namespace parhelion::ir
