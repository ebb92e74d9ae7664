#include "train/data/mixture.h"

#include "train/data/batch_stream.h"
#include "train/data/data_support.h"
#include "train/data/load.h"

#include <algorithm>
#include <array>
#include <map>

namespace parhelion::train {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::ThrowsMessage;

constexpr std::array<std::int64_t, 3> kFiles = {4, 2, 0};

std::vector<std::int64_t> mixed(std::array<double, 3> weights, std::int64_t epoch) {
  return mixed_documents(kFiles, weights, false, 0, epoch);
}

TEST(Mixture, VisitsEachFileAsOftenAsItsWeightSays) {
  EXPECT_THAT(mixed({1, 1, 1}, 0), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(mixed({0, 2, 5}, 0), ElementsAre(4, 5, 4, 5));
}

TEST(Mixture, GoesOnWithAPassInTheNextEpoch) {
  EXPECT_THAT(mixed({0.5, 0, 0}, 0), ElementsAre(0, 1));
  EXPECT_THAT(mixed({0.5, 0, 0}, 1), ElementsAre(2, 3));
  EXPECT_THAT(mixed({0, 0.75, 0}, 0), ElementsAre(4));
  EXPECT_THAT(mixed({0, 0.75, 0}, 1), ElementsAre(5, 4));
  EXPECT_THAT(mixed({0, 0.25, 0}, 0), IsEmpty());
}

TEST(Mixture, DrawsAnotherOrderForEachPassAndVisitsAllAlike) {
  constexpr std::array<std::int64_t, 2> kMany = {50, 30};
  constexpr std::array kWeights = {0.3, 2.5};
  std::map<std::int64_t, int> visits;
  for (std::int64_t epoch = 0; epoch < 10; ++epoch) {
    for (const std::int64_t document : mixed_documents(kMany, kWeights, true, 7, epoch))
      ++visits[document];
  }
  const auto second = visits.find(50);
  EXPECT_THAT(std::vector(visits.begin(), second), Each(Pair(testing::_, 3)));
  EXPECT_THAT(std::vector(second, visits.end()), Each(Pair(testing::_, 25)));
  EXPECT_EQ(visits.size(), 80u);
  EXPECT_NE(mixed_documents(kMany, kWeights, true, 7, 0),
            mixed_documents(kMany, kWeights, true, 8, 0));
}

class MixedStream : public DataFiles {
 protected:
  std::shared_ptr<const Documents> documents() const {
    const auto rows = [](char letter, int count) {
      std::string text;
      for (int i = 0; i < count; ++i)
        text += fmt::format("{{\"text\":\"{}\"}}\n",
                            std::string(static_cast<std::size_t>(3 + i), letter));
      return text;
    };
    return std::make_shared<const Documents>(
        load_documents({.files = {put("a.jsonl", rows('a', 6)), put("b.jsonl", rows('b', 3))},
                        .cache = directory_ / "cache",
                        .threads = 1},
                       byte_rules()));
  }
  static DataSettings settings(std::vector<double> weights) {
    DataSettings result = data_settings(16, 16);
    result.packing = Packing::none;
    result.shuffle = true;
    result.epochs = 2;
    result.weights = std::move(weights);
    return result;
  }
  static std::vector<std::int64_t> rest_of(BatchStream& stream) {
    std::vector<std::int64_t> ids;
    while (const auto pack = stream.next())
      ids.insert(ids.end(), pack->microbatches[0].document_ids.begin(),
                 pack->microbatches[0].document_ids.end());
    return ids;
  }
};

TEST_F(MixedStream, VisitsDocumentsByWeightAndGoesOnAnywhere) {
  BatchStream whole(documents(), settings({0.5, 2}), 3);
  EXPECT_EQ(whole.total_steps(), 18);
  const std::vector<std::int64_t> ids = rest_of(whole);
  for (std::int64_t document = 0; document < 9; ++document)
    EXPECT_EQ(std::ranges::count(ids, document), document < 6 ? 1 : 4) << document;
  for (std::int64_t at = 0; at < 18; ++at) {
    BatchStream resumed(documents(), settings({0.5, 2}), 3);
    resumed.seek({.epoch = at / 9, .microbatch = at % 9});
    EXPECT_EQ(rest_of(resumed), std::vector(ids.begin() + at, ids.end()));
  }
}

TEST_F(MixedStream, RefusesAnEpochWithoutDocuments) {
  EXPECT_THAT(
      [&] {
        BatchStream(documents(), settings({0.1, 0.1}), 3);
      },
      ThrowsMessage<Error>("data: epoch 0 has no document, expected greater data.weights"));
}

}  // namespace
}  // namespace parhelion::train
