#include "model/blocks/context.h"

#include <fmt/format.h>

namespace parhelion::model {
namespace {

/// Each token's id, given or kept.
ir::ValueId fed_tokens(ir::Builder& builder, std::int64_t slots) {
  const ir::TensorType type(ir::Kind::i32, {ir::Symbol::tokens});
  const ir::ValueId ids = builder.input("token_ids", type);
  const ir::ValueId source = builder.input("token_source", type);
  builder.set_label("feed_tokens");
  return builder.one(ir::FeedTokens{}, {ids, source, drawn_tokens(builder, slots)});
}

}  // namespace

PackedContext::PackedContext(ir::Builder& builder, std::int64_t longest_document)
    : token_ids_(builder.input("token_ids", {ir::Kind::i32, {ir::Symbol::tokens}})),
      positions_(builder.input("positions", {ir::Kind::i32, {ir::Symbol::tokens}})),
      document_indptr_(
          builder.input("document_indptr", {ir::Kind::i32, {{ir::Symbol::documents, 1, 1}}})),
      longest_document_(longest_document) {}

ir::ValueId PackedContext::attend(const Scope& scope, std::int64_t, const Heads& heads,
                                  double scale) {
  scope.builder.set_label(scope.path);
  return scope.builder
      .add(ir::Attention{.scale = scale, .longest = longest_document_},
           {heads.query, heads.key, heads.value, document_indptr_})
      .front();
}

PagedContext::PagedContext(ir::Builder& builder, const ExtendShape& shape)
    : page_tokens_(shape.page_tokens),
      token_ids_(fed_tokens(builder, shape.slots)),
      positions_(builder.input("positions", {ir::Kind::i32, {ir::Symbol::tokens}})),
      query_indptr_(builder.input("query_indptr", {ir::Kind::i32, {{ir::Symbol::rows, 1, 1}}})),
      kv_length_(builder.input("kv_length", {ir::Kind::i32, {ir::Symbol::rows}})),
      page_table_(builder.input("page_table",
                                {ir::Kind::i32, {ir::Symbol::rows, ir::Symbol::pages_per_row}})),
      write_location_(builder.input("write_location", {ir::Kind::i64, {ir::Symbol::tokens}})) {}

ir::ValueId PagedContext::attend(const Scope& scope, std::int64_t layer, const Heads& heads,
                                 double scale) {
  const ir::ValueId keys = write(scope, fmt::format("cache.layers.{}.key", layer), heads.key);
  const ir::ValueId values = write(scope, fmt::format("cache.layers.{}.value", layer), heads.value);
  return add(scope, ir::PagedAttention{.scale = scale},
             {heads.query, keys, values, page_table_, query_indptr_, kv_length_});
}

ir::ValueId PagedContext::write(const Scope& scope, std::string_view pages, ir::ValueId x) const {
  const ir::TensorType type = scope.builder.type(x);
  const ir::ValueId before = scope.builder.state(
      pages, {type.kind(), {ir::Symbol::pages, page_tokens_, type.shape[1], type.shape[2]}});
  return add(scope, ir::PageWrite{}, {x, write_location_, before});
}

ir::ValueId drawn_tokens(ir::Builder& builder, std::int64_t slots) {
  return builder.state("drawn_tokens", {ir::Kind::i32, {slots}});
}

}  // namespace parhelion::model
