#include "train/data/pack_plan.h"

#include "base/random.h"
#include "train/data/data_support.h"

#include <map>
#include <set>

namespace parhelion::train {
namespace {

using testing::ElementsAre;

/// Microbatches as text: each piece is document[begin, end).
std::vector<std::string> plan_text(const PackPlan& plan) {
  std::vector<std::string> text;
  for (std::int64_t i = 0; i < plan.count(); ++i) {
    std::string line;
    for (const Piece& piece : plan.microbatch(i)) {
      line += fmt::format("{}{}[{},{})", line.empty() ? "" : " ", piece.document, piece.begin,
                          piece.begin + piece.count);
    }
    text.push_back(line);
  }
  return text;
}

/// Lengths from 2 to `most`, many of them short.
std::vector<std::int64_t> random_lengths(std::size_t count, std::int64_t most) {
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < count; ++i) {
    const float u = uniform(5, 0, i);
    lengths.push_back(2 + static_cast<std::int64_t>(u * u * static_cast<float>(most - 2)));
  }
  return lengths;
}

/// How often each token of each document is predicted.
std::map<std::pair<std::int64_t, std::int64_t>, int> predicted(const PackPlan& plan) {
  std::map<std::pair<std::int64_t, std::int64_t>, int> counts;
  for (std::int64_t i = 0; i < plan.count(); ++i) {
    for (const Piece& piece : plan.microbatch(i)) {
      for (std::int64_t t = 0; t < piece.count; ++t) {
        ++counts[{piece.document, piece.begin + t + 1}];
      }
    }
  }
  return counts;
}

void expect_each_predicted_once(const PackPlan& plan, const std::vector<std::int64_t>& lengths) {
  const auto counts = predicted(plan);
  std::size_t tokens = 0;
  for (std::size_t d = 0; d < lengths.size(); ++d) {
    tokens += static_cast<std::size_t>(lengths[d] - 1);
    for (std::int64_t t = 1; t < lengths[d]; ++t) {
      const auto found = counts.find({static_cast<std::int64_t>(d), t});
      ASSERT_TRUE(found != counts.end() && found->second == 1) << d << ", " << t;
    }
  }
  EXPECT_EQ(counts.size(), tokens);
  EXPECT_EQ(plan.tokens(), static_cast<std::int64_t>(tokens));
}

void expect_within_limits(const PackPlan& plan, const DataSettings& settings) {
  const Bucket bucket = bucket_of(settings.microbatch_tokens);
  for (std::int64_t i = 0; i < plan.count(); ++i) {
    const auto pieces = plan.microbatch(i);
    std::int64_t tokens = 0;
    for (const Piece& piece : pieces) {
      ASSERT_GE(piece.count, 1);
      ASSERT_LE(piece.count, settings.sequence_tokens);
      tokens += piece.count;
    }
    ASSERT_LE(tokens, bucket.tokens);
    ASSERT_LE(std::ssize(pieces), bucket.documents);
    ASSERT_GE(std::ssize(pieces), 1);
  }
}

TEST(PackPlan, ConcatenatesDocumentsAndCutsThemAtTheEndOfAMicrobatch) {
  const std::vector<std::int64_t> lengths = {4, 6, 3};
  EXPECT_THAT(plan_text(plan_packs(lengths, data_settings(4, 4), 0, 0)),
              ElementsAre("0[0,3) 1[0,1)", "1[1,5)", "2[0,2)"));
}

TEST(PackPlan, CutsConcatenatedDocumentsAtTheSequence) {
  const std::vector<std::int64_t> lengths = {8, 3};
  EXPECT_THAT(plan_text(plan_packs(lengths, data_settings(3, 8), 0, 0)),
              ElementsAre("0[0,3) 0[3,6) 0[6,7) 1[0,1)", "1[1,2)"));
}

TEST(PackPlan, FitsWholeDocumentsTheLongestFirst) {
  DataSettings settings = data_settings(8, 8);
  settings.packing = Packing::fit;
  const std::vector<std::int64_t> lengths = {4, 7, 3, 6, 3, 9};
  EXPECT_THAT(plan_text(plan_packs(lengths, settings, 0, 0)),
              ElementsAre("5[0,8)", "1[0,6) 2[0,2)", "3[0,5) 0[0,3)", "4[0,2)"));
}

TEST(PackPlan, SplitsOrTruncatesLongDocuments) {
  DataSettings settings = data_settings(3, 6);
  const std::vector<std::int64_t> lengths = {9, 3, 2};
  settings.packing = Packing::fit;
  EXPECT_THAT(plan_text(plan_packs(lengths, settings, 0, 0)),
              ElementsAre("0[0,3) 0[3,6)", "0[6,8) 1[0,2) 2[0,1)"));
  settings.packing = Packing::none;
  EXPECT_THAT(plan_text(plan_packs(lengths, settings, 0, 0)),
              ElementsAre("0[0,3) 0[3,6)", "0[6,8) 1[0,2)", "2[0,1)"));
  settings.long_documents = LongDocuments::truncate;
  EXPECT_THAT(plan_text(plan_packs(lengths, settings, 0, 0)),
              ElementsAre("0[0,3) 1[0,2)", "2[0,1)"));
}

TEST(PackPlan, GivesEachDocumentARowOfItsOwnWithoutPacking) {
  DataSettings settings = data_settings(4, 8);
  settings.packing = Packing::none;
  const std::vector<std::int64_t> lengths = {2, 2, 5, 3, 4};
  EXPECT_THAT(plan_text(plan_packs(lengths, settings, 0, 0)),
              ElementsAre("0[0,1) 1[0,1)", "2[0,4) 3[0,2)", "4[0,3)"));
}

TEST(PackPlan, EndsAMicrobatchWhoseDocumentsAreAll) {
  const std::vector<std::int64_t> lengths(1100, 2);
  EXPECT_EQ(bucket_of(2048), (Bucket{2048, 512}));
  EXPECT_EQ(bucket_of(16), (Bucket{16, 16}));
  for (const Packing packing : {Packing::concatenate, Packing::fit, Packing::none}) {
    DataSettings settings = data_settings(2, 2048);
    settings.packing = packing;
    const PackPlan plan = plan_packs(lengths, settings, 0, 0);
    std::vector<std::size_t> pieces;
    for (std::int64_t i = 0; i < plan.count(); ++i) pieces.push_back(plan.microbatch(i).size());
    // A window of fit ends behind 1024 documents.
    EXPECT_THAT(pieces, ElementsAre(512, 512, 76));
  }
}

TEST(PackPlan, PredictsEachTokenOnceInEveryEpoch) {
  const auto lengths = random_lengths(3000, 300);
  for (const Packing packing : {Packing::concatenate, Packing::fit, Packing::none}) {
    for (const auto& [sequence, microbatch] : {std::pair{64, 64}, {100, 256}, {400, 1024}}) {
      DataSettings settings = data_settings(sequence, microbatch);
      settings.packing = packing;
      settings.shuffle = true;
      const PackPlan plan = plan_packs(lengths, settings, 9, 1);
      expect_each_predicted_once(plan, lengths);
      expect_within_limits(plan, settings);
    }
  }
}

TEST(PackPlan, WastesLittleWhereDocumentsFit) {
  const auto lengths = random_lengths(3000, 300);
  DataSettings settings = data_settings(400, 1024);
  settings.packing = Packing::fit;
  const PackPlan plan = plan_packs(lengths, settings, 0, 0);
  const double capacity = static_cast<double>(plan.count()) * 1024.0;
  EXPECT_GT(static_cast<double>(plan.tokens()) / capacity, 0.98);
  settings.packing = Packing::concatenate;
  EXPECT_EQ(plan_packs(lengths, settings, 0, 0).count(), (plan.tokens() + 1023) / 1024);
}

TEST(PackPlan, ShufflesEachEpochInItsOwnWay) {
  const auto lengths = random_lengths(200, 50);
  DataSettings settings = data_settings(32, 64);
  const auto given = plan_text(plan_packs(lengths, settings, 1, 0));
  EXPECT_EQ(plan_text(plan_packs(lengths, settings, 2, 5)), given);
  settings.shuffle = true;
  std::set<std::vector<std::string>> seen = {given};
  for (const std::uint64_t seed : {1u, 2u}) {
    for (const std::int64_t epoch : {0, 1, 2}) {
      const auto text = plan_text(plan_packs(lengths, settings, seed, epoch));
      EXPECT_EQ(plan_text(plan_packs(lengths, settings, seed, epoch)), text);
      EXPECT_TRUE(seen.insert(text).second) << seed << ", " << epoch;
    }
  }
}

TEST(PackPlan, VisitsThePartsOfALongDocumentInRandomOrder) {
  DataSettings settings = data_settings(10, 10);
  settings.shuffle = true;
  const std::vector<std::int64_t> lengths = {1001};
  const PackPlan plan = plan_packs(lengths, settings, 3, 0);
  EXPECT_NE(plan_text(plan), plan_text(plan_packs(lengths, data_settings(10, 10), 3, 0)));
  expect_each_predicted_once(plan, lengths);
}

}  // namespace
}  // namespace parhelion::train
