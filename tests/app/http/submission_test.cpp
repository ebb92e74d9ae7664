#include "app/http/submission.h"

#include "app/http/api_error.h"
#include "app/http/embedding_source.h"
#include "support/null_server.h"

#include <gtest/gtest.h>

#include <new>

namespace parhelion::app {
namespace {

class SilentBell : public Bell {
 public:
  void ring() noexcept override {}
};

class SubmissionTest : public testing::Test {
 protected:
  Submission<VectorSink> make() {
    return {tickets_, std::make_unique<VectorSink>(4, std::make_shared<SilentBell>())};
  }
  static serve::Request long_request() { return {.prompt = {70}, .max_tokens = 100'000}; }

  test::NullServer server_{{.vocabulary = 320, .step = std::chrono::milliseconds(1)}};
  ActiveTickets tickets_{server_};
};

TEST_F(SubmissionTest, KeepsItsSinkUntilTheServerHasLetGo) {
  {
    Submission<VectorSink> taken = make();
    taken.submit(long_request(), "r");
    EXPECT_EQ(tickets_.count(), 1);
  }
  EXPECT_EQ(server_.counts().running, 0);
  EXPECT_EQ(tickets_.count(), 0);
}

TEST_F(SubmissionTest, MayBeLeftByAnException) {
  const auto leave = [&] {
    std::vector<Submission<VectorSink>> all;
    all.push_back(make());
    all.back().submit(long_request(), "r");
    all.push_back(make());  // not submitted
    throw std::bad_alloc();
  };
  EXPECT_THROW(leave(), std::bad_alloc);
  EXPECT_EQ(server_.counts().running, 0);
}

TEST(ApiErrors, AFailedEngineIsNoInternalError) {
  const ApiError error = describe(Error(ErrorKind::device, "engine: has failed"), "i");
  EXPECT_EQ(error.status, 503);
  EXPECT_EQ(error.code, "engine_failed");
}

}  // namespace
}  // namespace parhelion::app
