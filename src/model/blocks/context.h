#pragma once

#include "model/blocks/scope.h"

#include <cstdint>

namespace parhelion::model {

/// Projected and rotated heads of one layer, each [tokens, heads or kv_heads, head_dim].
struct Heads {
  ir::ValueId query;
  ir::ValueId key;
  ir::ValueId value;
};

/// The life that a model is built for: supplies its tokens, attention and state.
class Context {
 public:
  virtual ~Context() = default;

  /// i32[tokens] each.
  virtual ir::ValueId token_ids() const = 0;
  virtual ir::ValueId positions() const = 0;

  /// Causal attention of layer `layer`, counted from 0: the query's shape.
  virtual ir::ValueId attend(const Scope& scope, std::int64_t layer, const Heads& heads,
                             double scale) = 0;
};

/// Training: documents lie one after another in the tokens.
///
/// Declares the inputs `token_ids`, `positions` i32[tokens] and `document_indptr`
/// i32[documents + 1]. A `longest_document` > 0 promises that no document has more tokens.
class PackedContext : public Context {
 public:
  explicit PackedContext(ir::Builder& builder, std::int64_t longest_document = 0);

  ir::ValueId token_ids() const override { return token_ids_; }
  ir::ValueId positions() const override { return positions_; }
  ir::ValueId attend(const Scope& scope, std::int64_t layer, const Heads& heads,
                     double scale) override;

 private:
  ir::ValueId token_ids_;
  ir::ValueId positions_;
  ir::ValueId document_indptr_;
  std::int64_t longest_document_;
};

/// What the buffers of serving programs are sized by, besides their capacities.
struct ExtendShape {
  std::int64_t page_tokens = 0;
  std::int64_t slots = 1;  ///< sequences whose last drawn token is kept
  std::int64_t free_edits =
      4096;  ///< edits of logits that a step has room for, beside those of its rows
};

/// Serving: new tokens of several rows, whose keys and values live in pages of the states
/// `cache.layers.<layer>.key` and `.value` [pages, page_tokens, kv_heads, head_dim]. A token is the
/// one given, or the one that an earlier run kept in the state `drawn_tokens` i32[slots].
///
/// Declares the inputs `token_ids`, `token_source`, `positions` i32[tokens], `query_indptr`
/// i32[rows + 1], `kv_length` i32[rows], `page_table` i32[rows, pages_per_row], `write_location`
/// i64[tokens].
class PagedContext : public Context {
 public:
  PagedContext(ir::Builder& builder, const ExtendShape& shape);

  ir::ValueId token_ids() const override { return token_ids_; }
  ir::ValueId positions() const override { return positions_; }
  ir::ValueId attend(const Scope& scope, std::int64_t layer, const Heads& heads,
                     double scale) override;

 private:
  ir::ValueId write(const Scope& scope, std::string_view pages, ir::ValueId x) const;

  std::int64_t page_tokens_;
  ir::ValueId token_ids_;
  ir::ValueId positions_;
  ir::ValueId query_indptr_;
  ir::ValueId kv_length_;
  ir::ValueId page_table_;
  ir::ValueId write_location_;
};

/// The newest content of the state `drawn_tokens`.
ir::ValueId drawn_tokens(ir::Builder& builder, std::int64_t slots);

}  // namespace parhelion::model
