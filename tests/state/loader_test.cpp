#include "state/loader.h"

#include "base/error.h"
#include "state/gguf_text.h"
#include "state/tensor_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace parhelion::state {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

/// Tensors in memory, which counts reads.
class MemorySource {
 public:
  explicit MemorySource(std::vector<TensorView> tensors) : tensors_(std::move(tensors)) {}

  TensorSource source() {
    TensorSource result{"memory", {}, [this](const std::string& name) { return read(name); }};
    for (const TensorView& tensor : tensors_) result.names.push_back(tensor.name);
    return result;
  }
  std::vector<std::string> reads;

 private:
  TensorView read(const std::string& name) {
    reads.push_back(name);
    return *std::ranges::find(tensors_, name, &TensorView::name);
  }
  std::vector<TensorView> tensors_;
};

/// The names that arrive, in order.
std::vector<std::string> arrivals(const TensorSource& source, const Mapper& mapper,
                                  const std::vector<IgnoreRule>& ignored = {}) {
  std::vector<std::string> names;
  load(source, mapper, ignored, [&](const TensorView& tensor) { names.push_back(tensor.name); });
  return names;
}

class LoaderTest : public StateFiles {};

TEST_F(LoaderTest, RunsEachGroupWhenItsLastInputArrives) {
  MemorySource memory({ramp("a", {1}), ramp("b", {1}), ramp("c", {1}), ramp("d", {1})});
  const Mapper mapper{Parallel{{Stack{{"a", "c"}, "ac", 0}, Rename{"d", "z"}, Identity{"b"}}}};
  EXPECT_THAT(arrivals(memory.source(), mapper), ElementsAre("b", "ac", "z"));
  EXPECT_THAT(memory.reads, ElementsAre("b", "a", "c", "d"));
}

TEST_F(LoaderTest, DropsResultsOnceTheSinkHasReturned) {
  MemorySource memory({ramp("a", {4, 2}), ramp("b", {4, 2})});
  const Mapper mapper{Parallel{{Transpose{"a"}, Transpose{"b"}}}};
  std::weak_ptr<const std::byte[]> last;
  load(memory.source(), mapper, {}, [&](const TensorView& tensor) {
    EXPECT_TRUE(last.expired());
    last = tensor.storage;
  });
  EXPECT_TRUE(last.expired());
}

TEST_F(LoaderTest, ListsAllMissingNamesBeforeReadingAny) {
  MemorySource memory({ramp("a", {1})});
  EXPECT_THAT(
      [&] {
        arrivals(memory.source(), identity({"c", "a", "b"}));
      },
      ThrowsMessage<Error>("memory: lacks 2 of the tensors it should have: 'b', 'c'"));
  EXPECT_THAT(memory.reads, IsEmpty());
}

TEST_F(LoaderTest, ListsAllTensorsThatNothingReads) {
  MemorySource memory({ramp("c", {1}), ramp("a", {1}), ramp("b", {1})});
  EXPECT_THAT([&] { arrivals(memory.source(), identity({"a"})); },
              ThrowsMessage<Error>("memory: has 2 tensors that nothing reads: 'b', 'c'"));
  EXPECT_THAT(memory.reads, IsEmpty());
  EXPECT_THAT(arrivals(memory.source(), identity({"a"}), {{"*b", "unused"}, {"c", "unused"}}),
              ElementsAre("a"));
}

TEST_F(LoaderTest, PatternsMatchWholeNames) {
  EXPECT_TRUE(matches("a.*.inv_freq", "a.0.self.inv_freq"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a**c*", "abcbc"));
  EXPECT_TRUE(matches("*ab", "aab"));
  EXPECT_FALSE(matches("a.*.inv_freq", "a.0.inv_freqs"));
  EXPECT_FALSE(matches("a", "ab"));
  EXPECT_FALSE(matches("", "a"));
}

TEST_F(LoaderTest, GivesViewsIntoTheMappingWhenNothingChanges) {
  put(safetensors_single_name(),
      safetensors_file(R"({"m.a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "1234"));
  const Checkpoint checkpoint = open_checkpoint(directory_);
  load(source_of(checkpoint), PrefixScope{"m.", "", {Identity{"a"}}}, {},
       [&](const TensorView& tensor) {
         EXPECT_EQ(tensor.bytes.data(), checkpoint.at("m.a").bytes.data());
         EXPECT_EQ(tensor.storage, nullptr);
       });
}

TEST_F(LoaderTest, LoadsGgufRowsInHalfLayout) {
  const std::vector<float> rows = {0, 1, 2, 3};
  put("m.gguf", gguf_file({}, {gguf_tensor("blk.0.attn_q.weight", {1, 4}, 0, 0)},
                          as_text(std::as_bytes(std::span(rows)))));
  const Checkpoint checkpoint = open_checkpoint(directory_ / "m.gguf");
  const Mapper mapper{Sequential{{RopeRows{"blk.0.attn_q.weight", 1, RopeLayout::half},
                                  Convert{"blk.0.attn_q.weight", ir::Kind::bf16},
                                  Rename{"blk.0.attn_q.weight", "q"}}}};
  load(source_of(checkpoint), mapper, {}, [&](const TensorView& tensor) {
    EXPECT_EQ(tensor.name, "q");
    EXPECT_EQ(tensor.shape, (Shape{4, 1}));
    EXPECT_THAT(values_in<std::uint16_t>(tensor), ElementsAre(0, 0x4000, 0x3f80, 0x4040));
  });
}

TEST_F(LoaderTest, SavesAndLoadsBackThroughTheInverse) {
  MemorySource memory({ramp("e.0", {2, 3}), ramp("e.1", {2, 3}, 6), ramp("norm", {5}, 20)});
  const Mapper mapper{Parallel{
      {Sequential{{Stack{{"e.0", "e.1"}, "e", 0}, Transpose{"e", 1, 2}}}, Rename{"norm", "n"}}}};
  save(memory.source(), mapper, {}, directory_ / "out", 32);
  const Checkpoint checkpoint = open_checkpoint(directory_ / "out");
  EXPECT_THAT(checkpoint.names(), ElementsAre("e", "n"));
  EXPECT_EQ(checkpoint.at("e").shape, (Shape{2, 3, 2}));
  std::map<std::string, std::vector<std::int32_t>> back;
  load(source_of(checkpoint), invert(mapper), {},
       [&](const TensorView& tensor) { back[tensor.name] = values_in(tensor); });
  EXPECT_THAT(back["e.0"], ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(back["e.1"], ElementsAre(6, 7, 8, 9, 10, 11));
  EXPECT_THAT(back["norm"], ElementsAre(20, 21, 22, 23, 24));
}

TEST_F(LoaderTest, SaveLeavesOutOnlyWhatIsIgnored) {
  MemorySource memory({ramp("a", {2}), ramp("b", {3})});
  const Mapper mapper{Parallel{{Identity{"a"}}}};
  EXPECT_THAT([&] { save(memory.source(), mapper, {}, directory_ / "out"); },
              ThrowsMessage<Error>(HasSubstr("has 1 tensors that nothing reads: 'b'")));
  save(memory.source(), mapper, {{"b", "it is computed"}}, directory_ / "out");
  EXPECT_THAT(open_checkpoint(directory_ / "out").names(), ElementsAre("a"));
}

TEST_F(LoaderTest, AFailedSaveLeavesNothing) {
  MemorySource memory({ramp("a", {2}), ramp("b", {3})});
  const Mapper mapper{Parallel{{Identity{"a"}, Squeeze{"b", 0}}}};
  EXPECT_THAT([&] { save(memory.source(), mapper, {}, directory_ / "out", 1); },
              ThrowsMessage<Error>(HasSubstr("cannot be squeezed")));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "out"));
}

}  // namespace
}  // namespace parhelion::state
