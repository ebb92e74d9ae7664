#include "base/error.h"
#include "contract/core.h"
#include "exec/cpu/cpu_executor.h"
#include "prepare/frontend.h"
#include "prepare/prepare_core.h"
#include "prepare/work_directory.h"
#include "support/test_directory.h"

#include <gmock/gmock.h>

#include <sys/wait.h>
#include <unistd.h>

namespace parhelion::prepare {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Preparations of the tiny model that end before they should.
class WorkTest : public TestDirectory {
 protected:
  void SetUp() override {
    TestDirectory::SetUp();
    const std::filesystem::path source =
        std::filesystem::path(PARHELION_TEST_DATA) / "model" / "llama_tiny";
    opened_.emplace(model::open_model(source));
    options_.core.shape = {.kind = ir::Kind::bf16,
                           .context_tokens = 128,
                           .catalogue = serving_catalogue(2, 32),
                           .slots = 2};
    options_.core.frontend = make_frontend(
        {{.name = "tokenizer.json", .bytes = read_file(source / "tokenizer.json")}}, {});
    options_.core.provenance.files = {{.name = "model.safetensors", .digest = "xxh128:0"}};
    options_.executor = [] { return exec::make_cpu_executor({.threads = 1}); };
    options_.on_phase = [this](const PhaseReport& report) { said_ += report.said; };
    options_.is_wanted = [this] { return ++asked_ < last_; };
    prepare();
    whole_ = read_file(core_);
    std::filesystem::remove(core_);
    all_ = asked_;
  }

  void prepare() {
    asked_ = 0;
    said_.clear();
    prepare_core(*opened_, options_, core_);
  }
  void stop_at(int question) {
    last_ = question;
    EXPECT_THROW(prepare(), Error) << question;
    last_ = kNever;
  }
  /// As by SIGKILL: nothing is cleaned up.
  void kill_at(int question) {
    const pid_t child = ::fork();
    if (child == 0) {
      options_.is_wanted = [this, question] {
        if (++asked_ >= question) ::_exit(9);
        return true;
      };
      prepare();
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(WEXITSTATUS(status), 9) << question;
  }
  void expect_no_core() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
      if (!entry.is_regular_file()) continue;
      EXPECT_THROW(contract::read_core(entry.path(), {.allow_unsigned = true}), Error)
          << entry.path();
    }
  }
  void expect_whole() {
    prepare();
    EXPECT_TRUE(read_file(core_) == whole_);
    EXPECT_FALSE(std::filesystem::exists(work_));
    std::filesystem::remove(core_);
  }
  std::filesystem::path kept(const std::string& extension) const {
    for (const auto& entry : std::filesystem::directory_iterator(work_))
      if (entry.path().extension() == extension) return entry.path();
    ADD_FAILURE() << "no kept work " << extension;
    return {};
  }
  void flip_byte(const std::filesystem::path& path, std::size_t at) const {
    std::string text = read_file(path);
    text.at(at) ^= 1;
    put(path, text);
  }

  static constexpr int kNever = 1 << 20;
  std::filesystem::path core_ = directory_ / "m.core";
  std::filesystem::path work_ = directory_ / "m.core.work";
  std::optional<model::OpenedModel> opened_;
  PrepareOptions options_;
  std::string said_, whole_;
  int asked_ = 0, last_ = kNever, all_ = 0;
};

TEST_F(WorkTest, GoesOnFromWhereverItWasStopped) {
  for (int question = 1; question < all_; question += 11) {
    stop_at(question);
    expect_no_core();
    expect_whole();
  }
}

TEST_F(WorkTest, GoesOnFromWhereverItWasKilled) {
  for (int question = 3; question < all_; question += 13) {
    kill_at(question);
    expect_no_core();
    expect_whole();
  }
}

TEST_F(WorkTest, TakesTheWeightsThatWereWhole) {
  stop_at(all_ - 1);
  expect_whole();
  EXPECT_THAT(said_, HasSubstr("weights taken from " + work_.string() + "\n"));
}

TEST_F(WorkTest, MakesDamagedWeightsAnew) {
  for (const std::size_t at : {std::size_t{0}, std::size_t{5000}}) {
    stop_at(all_ - 1);
    flip_byte(kept(".bytes"), at);
    expect_whole();
    EXPECT_THAT(said_, HasSubstr(".bytes: is damaged behind "));
  }
}

TEST_F(WorkTest, MakesWeightsOfADamagedListAnew) {
  stop_at(all_ - 1);
  flip_byte(kept(".list"), 60);
  expect_whole();
  EXPECT_THAT(said_, HasSubstr("is damaged behind 0 weights; the others are made anew\n"));
}

TEST_F(WorkTest, GoesOnBehindAListThatEndsWithinALine) {
  stop_at(all_ - 1);
  const std::filesystem::path list = kept(".list");
  std::filesystem::resize_file(list, std::filesystem::file_size(list) - 3);
  expect_whole();
}

TEST_F(WorkTest, DropsWeightsOfOtherInputs) {
  stop_at(all_ - 1);
  options_.core.provenance.files.front().digest = "xxh128:1";
  prepare();
  EXPECT_THAT(said_, HasSubstr(work_.string() + ": has weights of other inputs"));
  EXPECT_THAT(said_, testing::Not(HasSubstr("weights taken")));
}

TEST_F(WorkTest, TakesNothingOfASourceThatIsNotNamed) {
  options_.core.provenance.files.clear();
  stop_at(all_ - 1);
  prepare();
  EXPECT_THAT(said_, testing::Not(HasSubstr("weights taken")));
}

TEST_F(WorkTest, KeepsWeightsForAnotherTemplateIfAsked) {
  options_.keeps_work = true;
  prepare();
  EXPECT_TRUE(std::filesystem::exists(work_));
  options_.keeps_work = false;
  options_.core.frontend.reasoning_format = "";
  options_.core.frontend.chat_template = "{{ messages[0].content }}";
  prepare();
  EXPECT_THAT(said_, HasSubstr("weights taken from"));
  EXPECT_THAT(listing(directory_), ElementsAre("m.core"));
}

TEST_F(WorkTest, LeavesADirectoryOfOthersAlone) {
  put("m.core.work/notes.txt", "mine");
  EXPECT_THAT([&] { prepare(); }, ThrowsMessage<Error>(HasSubstr("has files of others")));
  EXPECT_THAT(listing(work_), ElementsAre("notes.txt"));
}

TEST_F(WorkTest, IsForOneProcessAtATime) {
  const WorkDirectory held(work_);
  EXPECT_THAT([&] { prepare(); }, ThrowsMessage<Error>(HasSubstr("another process prepares")));
}

}  // namespace
}  // namespace parhelion::prepare
