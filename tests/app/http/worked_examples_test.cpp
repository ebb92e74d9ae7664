// A worked example of the API: its number is in its name.
#include "app/http/http_support.h"

namespace parhelion::app {
namespace {

class WorkedExample : public HttpTest {
 protected:
  Received ask(int prompt_tokens) const {
    std::string ids = "70";
    for (int i = 1; i < prompt_tokens; ++i) ids += ",70";
    return post("/v1/completions", R"({"prompt":[)" + ids + R"(],"max_tokens":1})");
  }
};

TEST_F(WorkedExample, N30OneTokenLessThanTheContextFitsAndAFullOneDoesNot) {
  served_.context_tokens = model_.context_tokens = 4096;
  start();
  EXPECT_EQ(ask(4095).status, 200);
  const Received refused = ask(4096);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.code(), "context_length_exceeded");
}

}  // namespace
}  // namespace parhelion::app
