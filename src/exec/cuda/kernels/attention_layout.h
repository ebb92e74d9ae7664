#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// Rows [*first, rows) of up to three matrices, which become zero; `first` is on the device.
struct TailRows {
  const std::int32_t* first = nullptr;
  std::int64_t rows = 0;
  void* matrix[3] = {};            ///< null: none; aligned to 16
  std::int64_t row_bytes[3] = {};  ///< multiples of 2
};

inline constexpr int kMostDocumentClasses = 12;
inline constexpr int kMostDocumentChoices = 6;

/// Documents of (shortest, longest] tokens that one call of a library takes, as its slots.
struct DocumentSlots {
  std::int64_t slots = 0;
  std::int32_t shortest = 0;
  std::int32_t longest = 0;
  std::int32_t* lengths = nullptr;        ///< [slots]; 0 behind the last
  std::int32_t* query_offsets = nullptr;  ///< [slots + 1], elements of q
  std::int32_t* key_offsets = nullptr;    ///< [slots + 1], elements of k
  std::int32_t* lse_offsets = nullptr;    ///< [slots + 1], elements of lse
  int choices = 0;  ///< numbers of slots for which there is a call; 0: one call
  std::int64_t choice_slots[kMostDocumentChoices] = {};  ///< ascending
  cudaGraphConditionalHandle condition = 0;  ///< gets the first choice that holds the documents,
                                             ///< and `choices` where there is none
};

/// The slots of packed documents by length: every document of a token is in one class.
struct DocumentLayout {
  const std::int32_t* document_indptr = nullptr;  ///< [documents + 1]
  std::int64_t documents = 0;
  std::int64_t tokens = 0;
  std::int32_t query_token = 0;  ///< elements of a token in q, k and lse
  std::int32_t key_token = 0;
  std::int32_t lse_token = 0;
  int classes = 0;
  DocumentSlots at[kMostDocumentClasses];
  TailRows tail;
};
/// Fills the arrays of every class, documents ascending, and zeroes the tail.
void lay_out_documents(const DocumentLayout& layout, cudaStream_t stream);

/// Zeroes rows of the tail.
void zero_tail(const TailRows& tail, cudaStream_t stream);

/// Which slots rows of a paged batch get.
enum class RowSlotting : std::uint8_t {
  dense,    ///< slot r is row r, whose one token is token r, or which is idle
  parted,   ///< rows of one token are slots of one call, the others of another
  together  ///< all rows are slots of one call
};

struct RowShape {
  std::int64_t rows = 0;
  std::int64_t tokens = 0;  ///< at least `rows`, unless rows go together
  std::int64_t pages = 0;
  std::int64_t page_tokens = 0;
  std::int64_t pages_per_row = 0;
  std::int32_t query_token = 0;    ///< elements of a token in q
  std::int32_t single_length = 0;  ///< what stands for one token in `single`
  RowSlotting slotting = RowSlotting::together;
  bool operator==(const RowShape&) const = default;
};

/// Slots of rows that a library call takes: those with one new token, or with more.
struct RowSlots {
  std::int32_t* query_lengths = nullptr;  ///< [rows]; 0 where the slot is idle
  std::int32_t* key_lengths = nullptr;    ///< [rows]
  std::int32_t* query_offsets = nullptr;  ///< [rows + 1], elements of q; null where dense
  std::int32_t* table = nullptr;          ///< [rows, pages_per_row]; every entry is a page
};

/// Rows of a paged batch as slots.
struct RowLayout {
  RowShape shape;
  const std::int32_t* query_indptr = nullptr;  ///< [rows + 1]
  const std::int32_t* kv_length = nullptr;     ///< [rows]
  const std::int32_t* page_table = nullptr;    ///< [rows, pages_per_row]
  /// Rows of one token, slot r row r; null members where rows go together. If parted, rows that are
  /// not of these point at a token that is zero or written later, by `several`: a library may write
  /// zeros there.
  RowSlots single;
  /// The other rows; null members where dense. Slot r is row r where rows go together. If parted,
  /// the first slots are those of more tokens, ascending, and the others are idle.
  RowSlots several;
  std::int32_t* several_rows = nullptr;   ///< [rows], if parted: which row each slot is
  std::int32_t* several_count = nullptr;  ///< [1], if parted: slots that are not idle
};
/// Fills the arrays of both kinds and their tables.
void lay_out_rows(const RowLayout& layout, cudaStream_t stream);

inline constexpr int kMostRowChoices = 6;

/// Numbers of slots for which there is a call, ascending; the last holds all.
struct RowChoices {
  int choices = 0;
  std::int64_t slots[kMostRowChoices] = {};
};
/// Sets the condition to the first choice that holds *count slots, to `choices` if there are none.
void choose_rows(const std::int32_t* count, const RowChoices& of,
                 cudaGraphConditionalHandle condition, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
