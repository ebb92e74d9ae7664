#include "exec/attention_case.h"
#include "exec/cpu/kernels/page_write.h"
#include "support/vector_targets.h"

#include <random>

namespace parhelion::exec::cpu {
namespace {

/// Pages that hold the keys and values of the documents of a case, in scrambled order; memory that
/// was never written is NaN.
template <class T>
struct PagedCase {
  std::int64_t page_tokens;
  std::int64_t pages_per_row;
  std::vector<std::int32_t> page_table;  // [documents, pages_per_row]
  test::Tensor<T> key_pages;
  test::Tensor<T> value_pages;

  std::int64_t pages() const { return static_cast<std::int64_t>(page_table.size()) + 1; }
};

template <class T>
PagedCase<T> paged_case(const AttentionCase<T>& made, std::int64_t page_tokens, unsigned seed) {
  const auto rows = static_cast<std::int64_t>(made.indptr.size()) - 1;
  const std::int64_t per_row = made.shape.tokens / page_tokens + 1;
  const T nan = test::stored<T>(std::numeric_limits<float>::quiet_NaN());
  const std::int64_t elements =
      (rows * per_row + 1) * page_tokens * made.shape.kv_heads * made.shape.d;
  PagedCase<T> paged = {page_tokens, per_row,
                        std::vector<std::int32_t>(static_cast<std::size_t>(rows * per_row)),
                        test::Tensor<T>(elements, nan), test::Tensor<T>(elements, nan)};
  std::iota(paged.page_table.begin(), paged.page_table.end(), 1);
  std::shuffle(paged.page_table.begin(), paged.page_table.end(), std::mt19937(seed));
  return paged;
}

/// Writes the keys and values of tokens [begin, end) of a document.
template <class T>
void write_pages(const AttentionCase<T>& made, std::int64_t document, std::int64_t begin,
                 std::int64_t end, PagedCase<T>& paged) {
  std::vector<std::int64_t> location;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t page = paged.page_table[static_cast<std::size_t>(
        document * paged.pages_per_row + i / paged.page_tokens)];
    location.push_back(page * paged.page_tokens + i % paged.page_tokens);
  }
  const std::int64_t row = made.shape.kv_heads * made.shape.d;
  const std::int64_t token = made.indptr[static_cast<std::size_t>(document)] + begin;
  PageWrite write = {made.shape.kind,
                     made.k.data() + token * row,
                     location.data(),
                     paged.key_pages.data(),
                     end - begin,
                     row,
                     row,
                     paged.pages() * paged.page_tokens};
  page_write(write, 2);
  write.x = made.v.data() + token * row;
  write.pages = paged.value_pages.data();
  page_write(write, 1);
}

/// One step: row r advances from `from[r]` to `to[r]` tokens. Checks its outputs against `packed`.
template <class T>
void expect_step(const AttentionCase<T>& made, const AttentionResult<T>& packed,
                 PagedCase<T>& paged, const std::vector<std::int64_t>& from,
                 const std::vector<std::int64_t>& to, int threads) {
  const std::int64_t q_row = made.shape.query_heads * made.shape.d;
  std::vector<std::int32_t> indptr = {0};
  std::vector<std::int32_t> kv_length;
  for (std::size_t r = 0; r < from.size(); ++r) {
    write_pages(made, static_cast<std::int64_t>(r), from[r], to[r], paged);
    indptr.push_back(indptr.back() + static_cast<std::int32_t>(to[r] - from[r]));
    kv_length.push_back(static_cast<std::int32_t>(to[r]));
  }
  AttentionShape shape = made.shape;
  shape.tokens = indptr.back() + 2;  // two of padding
  test::Tensor<T> q(shape.tokens * q_row);
  for (std::size_t r = 0; r < from.size(); ++r) {
    std::copy_n(made.q.data() + (made.indptr[r] + from[r]) * q_row, (to[r] - from[r]) * q_row,
                q.data() + indptr[r] * q_row);
  }
  test::Tensor<T> o(shape.tokens * q_row, test::stored<T>(7.0f));
  test::Tensor<unsigned char> scratch(
      static_cast<std::int64_t>(attention_scratch_bytes(shape, threads)), 0xff);
  paged_attention(
      {shape, q.data(), q_row, paged.key_pages.data(), paged.value_pages.data(), paged.pages(),
       paged.page_tokens, paged.page_table.data(), paged.pages_per_row, indptr.data(),
       kv_length.data(), static_cast<std::int64_t>(from.size()), o.data()},
      scratch.data(), threads);
  for (std::size_t r = 0; r < from.size(); ++r) {
    EXPECT_TRUE(test::same_bits(o.data() + indptr[r] * q_row,
                                packed.o.data() + (made.indptr[r] + from[r]) * q_row,
                                (to[r] - from[r]) * q_row))
        << "row " << r << " tokens " << from[r] << " to " << to[r];
  }
  for (std::int64_t i = indptr.back() * q_row; i < o.size(); ++i) ASSERT_EQ(o.at(i), 0.0);
}

/// Advances all rows by random chunks of at most `most` tokens until the documents end.
template <class T>
void expect_packed_bits(const AttentionCase<T>& made, std::int64_t page_tokens, std::int64_t most,
                        int threads, unsigned seed) {
  std::mt19937 random(seed);
  const auto packed = run_attention(made, 1);
  auto paged = paged_case(made, page_tokens, seed);
  std::vector<std::int64_t> from(made.indptr.size() - 1, 0);
  for (bool is_going = true; is_going;) {
    auto to = from;
    is_going = false;
    for (std::size_t r = 0; r < from.size(); ++r) {
      const std::int64_t length = made.indptr[r + 1] - made.indptr[r];
      const auto chunk = static_cast<std::int64_t>(random() % static_cast<unsigned>(most + 1));
      to[r] = std::min(length, from[r] + chunk);
      is_going = is_going || to[r] < length;
    }
    expect_step(made, packed, paged, from, to, threads);
    from = to;
  }
}

TEST(PagedAttention, GivesThePackedBitsAtAnyChunking) {
  test::on_each_vector_target([] {
    unsigned seed = 100;
    for (const AttentionHeads heads :
         {AttentionHeads{9, 3, 64}, {16, 8, 16}, {4, 4, 80}, {2, 1, 128}}) {
      const auto made = attention_case<float>(heads, {150, 9, 70}, 0, seed);
      for (const std::int64_t page_tokens : {16, 128, 256}) {
        expect_packed_bits(made, page_tokens, 60, 1 + static_cast<int>(seed % 2), seed);
        ++seed;
      }
    }
  });
}

TEST(PagedAttention, GivesThePackedBitsInBf16) {
  test::on_each_vector_target([] {
    const auto made = attention_case<BFloat16>({9, 3, 64}, {200, 131}, 0, 21);
    expect_packed_bits(made, 16, 90, 2, 22);
    expect_packed_bits(made, 128, 300, 1, 23);
  });
}

TEST(PagedAttention, GivesThePackedBitsTokenByToken) {
  test::on_each_vector_target([] {
    const auto made = attention_case<float>({9, 3, 64}, {139}, 0, 24);
    expect_packed_bits(made, 32, 1, 2, 25);
    const auto small = attention_case<BFloat16>({16, 8, 16}, {131, 30, 1}, 0, 26);
    expect_packed_bits(small, 64, 1, 1, 27);
  });
}

TEST(PagedAttention, GivesThePackedBitsInAWindow) {
  auto made = attention_case<float>({4, 2, 16}, {300, 40}, 0, 28);
  for (const std::int64_t window : {1, 20, 128, 200}) {
    made.shape.window = window;
    expect_packed_bits(made, 16, 70, 2, 29);
  }
}

TEST(PagedAttention, NeverReadsOutsideThePages) {
  const auto made = attention_case<float>({4, 2, 16}, {40}, 0, 30);
  auto paged = paged_case(made, 16, 31);
  write_pages(made, 0, 0, 40, paged);
  std::vector<std::int32_t> indptr = {0, 40};
  std::vector<std::int32_t> kv_length = {1000};  // beyond the table
  for (std::int32_t& page : paged.page_table) page = page % 2 == 0 ? -5 : 1'000'000;
  test::Tensor<float> o(40 * 4 * 16);
  test::Tensor<unsigned char> scratch(
      static_cast<std::int64_t>(attention_scratch_bytes(made.shape, 1)));
  paged_attention({made.shape, made.q.data(), 4 * 16, paged.key_pages.data(),
                   paged.value_pages.data(), paged.pages(), 16, paged.page_table.data(),
                   paged.pages_per_row, indptr.data(), kv_length.data(), 1, o.data()},
                  scratch.data(), 1);
  EXPECT_TRUE(std::isnan(o[0]));  // page 0 was never written
}

}  // namespace
}  // namespace parhelion::exec::cpu
