#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <memory>
#include <string>
#include <string_view>

struct cudnnContext;

namespace parhelion::exec::cuda {

/// What a cuDNN attention computes.
///
/// Slots hold sequences. Where a slot's tokens begin and how many there are is read on the device,
/// so one plan serves all lengths.
enum class AttentionUse : std::uint8_t {
  forward,           ///< packed documents, with lse
  backward,          ///< its gradients; sums of dq in no fixed order
  ordered_backward,  ///< its gradients, the same bits each time
  prefill,           ///< the last tokens of rows whose keys lie in pages; bits of `forward`
  folded,            ///< one token a row, its group of query heads as rows; bits of `forward`
  decode,            ///< one token a row; keys may be split
};
std::string_view name(AttentionUse use);

/// Attention over bf16 [tokens, heads, d]; pages are [pages, page_tokens, kv_heads, d].
struct AttentionForm {
  AttentionUse use = AttentionUse::forward;
  std::int64_t slots = 0;
  std::int64_t most_tokens = 0;   ///< most queries of a slot; of packed documents also most keys
  std::int64_t total_tokens = 0;  ///< of all slots together
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t d = 0;
  double scale = 1.0;
  std::int64_t window = 0;  ///< most keys that a query sees, itself included; 0 = all
  std::int64_t pages = 0;   ///< of the three paged uses, as are the next two
  std::int64_t page_tokens = 0;
  std::int64_t pages_per_row = 0;
  bool is_dense = false;  ///< of `folded` and `decode`: slot r's query is token r, without offsets
};

/// One line that no other form has.
std::string describe(const AttentionForm& form);

/// Device addresses; those that a use does not have stay null. Offsets are in elements, of the
/// tensor that they are of, and have slots + 1 entries.
struct AttentionOperands {
  void* q = nullptr;
  void* k = nullptr;  ///< or key pages
  void* v = nullptr;  ///< or value pages
  void* o = nullptr;
  void* lse = nullptr;  ///< f32[tokens, query_heads]
  void* d_o = nullptr;
  void* dq = nullptr;
  void* dk = nullptr;
  void* dv = nullptr;
  void* query_lengths = nullptr;  ///< i32[slots]; of `folded` the group's heads instead of 1
  void* key_lengths = nullptr;    ///< i32[slots]
  void* query_offsets = nullptr;  ///< of q, o and their gradients; null where dense
  void* key_offsets = nullptr;    ///< of k, v and their gradients
  void* lse_offsets = nullptr;
  void* page_table = nullptr;  ///< i32[slots, pages_per_row]
};

/// A cuDNN graph with its chosen kernel. The only place that sees cuDNN's frontend.
class AttentionGraph {
 public:
  /// Null if cuDNN has no kernel for `form`.
  static std::unique_ptr<AttentionGraph> build(cudnnContext* handle, const AttentionForm& form);
  /// What `bytes` of `serialize` held, without a search or compilation. Null if they hold none.
  static std::unique_ptr<AttentionGraph> deserialize(cudnnContext* handle, std::string_view bytes);

  ~AttentionGraph();
  AttentionGraph(const AttentionGraph&) = delete;
  AttentionGraph& operator=(const AttentionGraph&) = delete;

  /// Empty if cuDNN cannot.
  std::string serialize() const;
  std::int64_t workspace_bytes() const;

  /// Enqueues the work; allocates nothing, so it can be captured.
  void run(cudnnContext* handle, const AttentionOperands& operands, std::byte* workspace,
           cudaStream_t stream) const;

 private:
  struct State;
  explicit AttentionGraph(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace parhelion::exec::cuda
