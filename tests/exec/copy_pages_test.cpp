#include "exec/cpu/kernels/copy_pages.h"

#include "support/tensor.h"

namespace parhelion::exec::cpu {
namespace {

/// Four pages of 100 bytes after copies of pages that begin as their own numbers.
std::vector<int> copied(const std::vector<std::int32_t>& source,
                        const std::vector<std::int32_t>& destination) {
  test::Tensor<unsigned char> pages(400);
  for (std::int64_t i = 0; i < 400; ++i) pages[i] = static_cast<unsigned char>(i / 100);
  copy_pages({source.data(), destination.data(), reinterpret_cast<std::byte*>(pages.data()),
              static_cast<std::int64_t>(source.size()), 4, 100},
             2);
  std::vector<int> result;
  for (std::int64_t page = 0; page < 4; ++page) {
    result.push_back(pages[100 * page]);
    for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(pages[100 * page + i], result.back());
  }
  return result;
}

TEST(CopyPages, CopiesWholePages) {
  EXPECT_EQ(copied({1, 1}, {2, 3}), (std::vector<int>{0, 1, 1, 1}));
  EXPECT_EQ(copied({0}, {3}), (std::vector<int>{0, 1, 2, 0}));
}

TEST(CopyPages, NeverWritesTheNullPageOrBeyondThePages) {
  EXPECT_EQ(copied({1, -1, 4, 1, 1, 2}, {0, 2, 3, 4, -1, 2}), (std::vector<int>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace parhelion::exec::cpu
