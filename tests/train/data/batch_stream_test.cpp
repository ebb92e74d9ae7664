#include "train/data/batch_stream.h"

#include "train/data/data_support.h"

namespace parhelion::train {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

class BatchStreamTest : public DataFiles {
 protected:
  /// All packs from a position on, at most `most`.
  static std::vector<Pack> packs_from(BatchStream& stream, std::size_t most = 1000) {
    std::vector<Pack> packs;
    while (packs.size() < most) {
      auto pack = stream.next();
      if (!pack) break;
      packs.push_back(std::move(*pack));
    }
    return packs;
  }
};

TEST_F(BatchStreamTest, LaysPiecesOneAfterAnotherAndPadsTheRest) {
  const auto documents = documents_of(std::vector<TokenisedRow>{
      {.ids = {10, 11, 12, 13}, .learnt = {{2, 4}}}, {.ids = {20, 21, 22}, .learnt = {{0, 3}}}});
  DataSettings settings = data_settings(4, 8);
  settings.buckets = {4, 6, 8};
  BatchStream stream(documents, settings, 0);
  const auto pack = stream.next();
  ASSERT_TRUE(pack && pack->microbatches.size() == 1);
  const Microbatch& batch = pack->microbatches[0];
  EXPECT_EQ(batch.capacity_tokens, 6);
  EXPECT_EQ(batch.capacity_documents, 6);
  EXPECT_THAT(batch.token_ids, ElementsAre(10, 11, 12, 20, 21, 0));
  EXPECT_THAT(batch.positions, ElementsAre(0, 1, 2, 0, 1, 0));
  EXPECT_THAT(batch.labels, ElementsAre(-100, 12, 13, 21, 22, -100));
  EXPECT_THAT(batch.loss_weight, ElementsAre(0, 1, 1, 1, 1, 0));
  EXPECT_THAT(batch.document_indptr, ElementsAre(0, 3, 5, 5, 5, 5, 5));
  EXPECT_THAT(batch.document_ids, ElementsAre(0, 1));
  EXPECT_EQ(batch.weight, 4.0);
}

TEST_F(BatchStreamTest, KeepsTheLabelAtACut) {
  const auto documents =
      documents_of(std::vector<TokenisedRow>{{.ids = {1, 2, 3, 4, 5}, .learnt = {{0, 5}}}});
  BatchStream stream(documents, data_settings(2, 2), 0);
  const auto packs = packs_from(stream);
  ASSERT_EQ(packs.size(), 2u);
  EXPECT_THAT(packs[0].microbatches[0].labels, ElementsAre(2, 3));
  EXPECT_THAT(packs[1].microbatches[0].token_ids, ElementsAre(3, 4));
  EXPECT_THAT(packs[1].microbatches[0].positions, ElementsAre(0, 1));
  EXPECT_THAT(packs[1].microbatches[0].labels, ElementsAre(4, 5));
}

TEST_F(BatchStreamTest, TakesTheSmallestBucketThatHolds) {
  DataSettings settings = data_settings(16, 16);
  settings.buckets = {4, 8, 16};
  settings.packing = Packing::none;
  BatchStream stream(documents_of(std::vector<std::int64_t>{2, 5, 6, 9, 10, 17}), settings, 0);
  std::vector<std::int64_t> capacities;
  for (const Pack& pack : packs_from(stream)) {
    capacities.push_back(pack.microbatches[0].capacity_tokens);
  }
  EXPECT_THAT(capacities, ElementsAre(4, 4, 8, 8, 16, 16));
  EXPECT_THAT(buckets_of(settings), ElementsAre(Bucket{4, 4}, Bucket{8, 8}, Bucket{16, 16}));
}

TEST_F(BatchStreamTest, EndsAPackInTheNextEpochAndTheLastOneShort) {
  DataSettings settings = data_settings(4, 4);
  settings.microbatches = 2;
  settings.epochs = 3;
  BatchStream stream(documents_of(std::vector<std::int64_t>{13}), settings, 0);
  EXPECT_EQ(stream.total_steps(), 5);
  std::vector<std::string> seen;
  for (const Pack& pack : packs_from(stream)) {
    seen.push_back(fmt::format("{} then {}.{}", pack.microbatches.size(), pack.after.epoch,
                               pack.after.microbatch));
  }
  EXPECT_THAT(seen,
              ElementsAre("2 then 0.2", "2 then 1.1", "2 then 2.0", "2 then 2.2", "1 then 3.0"));
  EXPECT_FALSE(stream.next());
  EXPECT_EQ(stream.position(), (DataPosition{3, 0}));
}

TEST_F(BatchStreamTest, GoesOnFromEveryPositionWithTheSamePacks) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < 60; ++i) lengths.push_back(2 + i * i % 37);
  const auto documents = documents_of(lengths);
  for (const Packing packing : {Packing::concatenate, Packing::fit, Packing::none}) {
    DataSettings settings = data_settings(16, 48);
    settings.packing = packing;
    settings.shuffle = true;
    settings.microbatches = 3;
    settings.epochs = 3;
    BatchStream whole(documents, settings, 42);
    const auto packs = packs_from(whole);
    ASSERT_EQ(std::ssize(packs), whole.total_steps());
    for (std::size_t i = 0; i < packs.size(); ++i) {
      BatchStream resumed(documents, settings, 42);
      resumed.seek(read_data_position(parse_json(write_json(as_json(packs[i].after)), "p"), "p"));
      const auto rest = packs_from(resumed);
      ASSERT_EQ(rest.size(), packs.size() - i - 1);
      for (std::size_t j = 0; j < rest.size(); ++j) {
        ASSERT_EQ(rest[j].microbatches, packs[i + 1 + j].microbatches) << i << ", " << j;
        ASSERT_EQ(rest[j].after, packs[i + 1 + j].after);
      }
    }
  }
}

TEST_F(BatchStreamTest, LearnsEachTokenOnceInEveryEpoch) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < 100; ++i) lengths.push_back(2 + i * 7 % 61);
  DataSettings settings = data_settings(10, 32);
  settings.shuffle = true;
  settings.epochs = 2;
  BatchStream stream(documents_of(lengths), settings, 1);
  double weight = 0;
  for (const Pack& pack : packs_from(stream)) weight += pack.microbatches[0].weight;
  double learnt = 0;
  for (const std::int64_t length : lengths) learnt += static_cast<double>(length - 1);
  EXPECT_EQ(weight, 2 * learnt);
}

TEST_F(BatchStreamTest, RepeatsDocumentsWithoutEndIfThereAreNoEpochs) {
  DataSettings settings = data_settings(4, 4);
  settings.epochs = 0;
  BatchStream stream(documents_of(std::vector<std::int64_t>{5}), settings, 0);
  EXPECT_EQ(stream.total_steps(), std::nullopt);
  EXPECT_EQ(packs_from(stream, 70).size(), 70u);
  EXPECT_EQ(stream.position(), (DataPosition{70, 0}));
}

TEST_F(BatchStreamTest, RefusesPositionsThatAreNotThere) {
  BatchStream stream(documents_of(std::vector<std::int64_t>{9}), data_settings(4, 4), 0);
  EXPECT_THAT(
      [&] {
        stream.seek({0, 2});
      },
      ThrowsMessage<Error>("data position: microbatch 2 is behind the end of epoch 0, which "
                           "has 2; the position is of other documents or settings"));
  EXPECT_THAT(
      [&] {
        stream.seek({2, 0});
      },
      ThrowsMessage<Error>("data position: epoch 2 is behind the end, the job has 1 epochs"));
  EXPECT_EQ(stream.position(), (DataPosition{0, 0}));
  stream.seek({1, 0});
  EXPECT_FALSE(stream.next());
  stream.seek({0, 1});
  EXPECT_TRUE(stream.next());
}

TEST_F(BatchStreamTest, RefusesAPositionOfAnotherForm) {
  EXPECT_THAT(
      [] {
        read_data_position(Json::Object{{"epoch", 1}}, "state.json");
      },
      ThrowsMessage<Error>("state.json: has no microbatch"));
  EXPECT_THAT(
      [] {
        read_data_position(Json::Object{{"epoch", -1}}, "state.json");
      },
      ThrowsMessage<Error>("state.json: epoch is -1, expected at least 0"));
}

TEST_F(BatchStreamTest, NamesADocumentThatIsTooLong) {
  const auto documents = documents_of(std::vector<std::int64_t>{9, 10});
  DataSettings settings = data_settings(8, 8);
  settings.long_documents = LongDocuments::error;
  BatchStream concatenated(documents, settings, 0);
  EXPECT_TRUE(concatenated.next());
  settings.packing = Packing::fit;
  EXPECT_THAT([&] { BatchStream(documents, settings, 0); },
              ThrowsMessage<Error>(
                  "rows.jsonl:2: has 10 tokens, expected at most 9: sequence_tokens and the one "
                  "that is predicted last; long_documents may split or truncate it"));
}

TEST_F(BatchStreamTest, RefusesNoDocuments) {
  EXPECT_THAT(
      [&] { BatchStream(documents_of(std::vector<std::int64_t>{}), data_settings(4, 4), 0); },
      ThrowsMessage<Error>("data: there is no document"));
}

}  // namespace
}  // namespace parhelion::train
