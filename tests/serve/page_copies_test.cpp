#include "serve/cache/page_copies.h"

#include "base/error.h"
#include "base/random.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace parhelion::serve {
namespace {

constexpr std::int64_t kPages = 12;
using Pages = std::vector<int>;

/// Runs batches as a device may: all of a batch at once, so it must keep the rule.
Pages after(const PageCopies& copies) {
  Pages pages(kPages);
  std::iota(pages.begin(), pages.end(), 0);
  for (std::int64_t i = 0; i < copies.batch_count(); ++i) {
    std::set<std::int32_t> sources, destinations;
    const Pages before = pages;
    for (const auto& [source, destination] : copies.batch(i)) {
      sources.insert(source);
      EXPECT_TRUE(destinations.insert(destination).second) << "written twice";
      pages.at(static_cast<std::size_t>(destination)) = before.at(static_cast<std::size_t>(source));
    }
    for (const std::int32_t page : destinations) EXPECT_FALSE(sources.contains(page)) << page;
  }
  return pages;
}

TEST(PageCopies, TheLastCopyToAPageCounts) {
  PageCopies copies(kPages, 8);
  copies.add(0, 5);  // its last owner failed
  copies.add(7, 5);  // the next one begins as page 7
  EXPECT_EQ(copies.batch_count(), 1);
  EXPECT_EQ(copies.batch(0).size(), 1u);
  EXPECT_EQ(after(copies)[5], 7);
}

TEST(PageCopies, ASourceThatIsWrittenLaterIsReadBefore) {
  PageCopies copies(kPages, 8);
  copies.add(7, 5);
  copies.add(3, 7);
  EXPECT_EQ(copies.batch_count(), 2);
  const Pages pages = after(copies);
  EXPECT_EQ(pages[5], 7);
  EXPECT_EQ(pages[7], 3);
}

TEST(PageCopies, HaveTheEffectOfOneAfterTheOther) {
  std::uint64_t at = 0;
  const auto draw = [&](std::uint32_t limit) {
    return static_cast<std::int32_t>(philox(3, at++, 0)[0] % limit);
  };
  PageCopies copies(kPages, 64);
  for (int round = 0; round < 200; ++round) {
    copies.clear();
    Pages expected(kPages);
    std::iota(expected.begin(), expected.end(), 0);
    for (std::int32_t left = 1 + draw(30); left > 0; --left) {
      const std::int32_t destination = 1 + draw(kPages - 1);
      const std::int32_t source = draw(2) == 0 ? 0 : draw(kPages);
      if (source == destination) continue;
      copies.add(source, destination);
      expected[static_cast<std::size_t>(destination)] = expected[static_cast<std::size_t>(source)];
    }
    ASSERT_EQ(after(copies), expected) << round;
  }
}

TEST(PageCopies, TheNullPageIsNeverWritten) {
  PageCopies copies(kPages, 8);
  EXPECT_THROW(copies.add(3, 0), Error);
  EXPECT_THROW(copies.add(kPages, 1), Error);
  EXPECT_TRUE(copies.empty());
}

}  // namespace
}  // namespace parhelion::serve
