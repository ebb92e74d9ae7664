#include "http_support.h"

namespace parhelion::app {
namespace {

class ConstraintsTest : public HttpTest {
 protected:
  Received complete(const std::string& members) const {
    return post("/v1/completions", R"({"prompt":"x","max_tokens":60,)" + members + "}");
  }
  std::string text_of(const std::string& members) const {
    const Json json = complete(members).json();
    if (json.find("choices") == nullptr) return write_json(json);
    return json.find("choices")->as_array("choices").front().find("text")->as_string("text");
  }
};

/// The tokens that the model would draw, the stop strings, what is shown of them.
struct StopCase {
  std::vector<std::string> pieces;
  std::string stops;
  std::string shown;
};

class StopTest : public HttpTest, public testing::WithParamInterface<StopCase> {};

TEST_P(StopTest, EndsTheTextInBothWays) {
  for (const std::string& piece : GetParam().pieces) {
    const auto ids = tiny_model().tokenizer.encode(piece);
    script_.insert(script_.end(), ids.begin(), ids.end());
  }
  start();
  const std::string body = R"({"prompt":"x","max_tokens":60,"stop":)" + GetParam().stops;
  const Json whole = post("/v1/completions", body + "}").json();
  const Json& choice = whole.find("choices")->as_array("choices").front();
  EXPECT_EQ(*choice.find("text"), Json(GetParam().shown));
  EXPECT_EQ(*choice.find("finish_reason"), Json("stop"));
  std::string streamed;
  for (const std::string& event :
       events_of(post("/v1/completions", body + R"(,"stream":true})").body)) {
    if (event == "[DONE]") continue;
    const Json chunk = parse_json(event, "event");
    streamed += chunk.find("choices")->as_array("c").front().find("text")->as_string("text");
  }
  EXPECT_EQ(streamed, GetParam().shown);
}

INSTANTIATE_TEST_SUITE_P(Stops, StopTest,
                         testing::Values(StopCase{{"xE", "N", "Q"}, R"("END")", "xENQ"},
                                         StopCase{{"aEN", "D b"}, R"("END")", "a"},
                                         StopCase{{"zabc"}, R"(["ab","abc"])", "z"},
                                         StopCase{{"END"}, R"("END")", ""},
                                         StopCase{{"a\xC3\xA9z"}, "\"\xC3\xA9\"", "a"},
                                         StopCase{{"aEN"}, R"("END")", "aEN"}));

TEST_F(ConstraintsTest, EndsTheSequenceAtAStopString) {
  say("abcSTOPdefghij");
  start();
  EXPECT_EQ(text_of(R"("stop":["STOP"])"), "abc");
  EXPECT_TRUE(eventually([&] { return engine_->counts().running == 0; }));
  EXPECT_EQ(engine_->counts().drawn_tokens, 7);
  EXPECT_EQ(text_of(R"("stop":["STOP"],"include_stop_str_in_output":true)"), "abcSTOP");
}

TEST_F(ConstraintsTest, RefusesStopStringsOutOfBounds) {
  start();
  EXPECT_EQ(complete(R"("stop":"")").code(), "invalid_value");
  EXPECT_EQ(complete(R"("stop":[""])").code(), "invalid_value");
  EXPECT_EQ(complete(R"("stop":")" + std::string(257, 'a') + "\"").code(), "invalid_value");
  std::string many = "\"a\"";
  for (int i = 0; i < 16; ++i) many += ",\"b\"";
  EXPECT_EQ(complete(R"("stop":[)" + many + "]").code(), "invalid_value");
  EXPECT_EQ(complete(R"("stop":5)").code(), "invalid_value");
}

TEST_F(ConstraintsTest, ShowsSpecialTokensWhereAsked) {
  script_ = {67, 1, 68};
  start();
  EXPECT_EQ(text_of(R"("seed":1)"), "ab");
  EXPECT_EQ(text_of(R"("skip_special_tokens":false)"), "a<|im_start|>b");
}

TEST_F(ConstraintsTest, HoldsTheTextToAGrammar) {
  say("zzzzzzzzzzzz");
  start();
  const std::string word = text_of(R"("choice":["yes","no"])");
  EXPECT_TRUE(word == "yes" || word == "no") << word;
  const std::string digits = text_of(R"("regex":"[0-9]{4}")");
  EXPECT_EQ(digits.size(), 4U);
  EXPECT_EQ(digits.find_first_not_of("0123456789"), std::string::npos);
  EXPECT_EQ(text_of(R"("grammar":"root ::= \"a\" \"b\"")"), "ab");
}

TEST_F(ConstraintsTest, HoldsTheTextToASchema) {
  start();
  const std::string text =
      text_of(R"("response_format":{"type":"json_schema","json_schema":{"name":"x","schema":)"
              R"({"type":"object","properties":{"a":{"enum":[1,2]},"b":{"type":"boolean"}},)"
              R"("required":["a","b"],"additionalProperties":false}}})");
  const Json json = parse_json(text, "text");
  ASSERT_NE(json.find("a"), nullptr) << text;
  EXPECT_TRUE(json.find("a")->is_integer());
  EXPECT_TRUE(json.find("b")->is_bool());
}

TEST_F(ConstraintsTest, RemembersGrammars) {
  start();
  text_of(R"("choice":["yes","no"])");
  text_of(R"("choice":["yes","no"])");
  EXPECT_TRUE(has_metric("parhelion_grammar_cache_hits_total 1\n"));
}

TEST_F(ConstraintsTest, RefusesConstraintsThatAreNone) {
  start();
  EXPECT_EQ(complete(R"("regex":"(")").code(), "invalid_schema");
  EXPECT_EQ(complete(R"("grammar":"root ::= missing")").code(), "invalid_schema");
  EXPECT_EQ(
      complete(R"("response_format":{"type":"json_schema","json_schema":{"schema":{"type":5}}})")
          .code(),
      "invalid_schema");
  EXPECT_EQ(complete(R"("response_format":{"type":"json_schema"})").code(), "invalid_value");
  EXPECT_EQ(complete(R"("response_format":{"type":"xml"})").code(), "invalid_value");
  EXPECT_EQ(complete(R"("response_format":5)").code(), "invalid_value");
  EXPECT_EQ(complete(R"("regex":"a","choice":["b"])").code(), "invalid_value");
  EXPECT_EQ(complete(R"("regex":"((a{1000}){1000}){1000}")").code(), "schema_too_complex");
}

TEST_F(ConstraintsTest, ScoresAPrompt) {
  start();
  const Json json =
      post("/v1/completions", R"({"prompt":"abc","echo":true,"logprobs":0,"max_tokens":0})").json();
  const Json& choice = json.find("choices")->as_array("choices").front();
  EXPECT_EQ(*choice.find("text"), Json("abc"));
  EXPECT_EQ(write_json(*choice.find("logprobs")),
            R"({"tokens":["a","b","c"],"token_logprobs":[null,-1.0,-1.0],)"
            R"("top_logprobs":[null,{"b":-1.0},{"c":-1.0}],"text_offset":[0,1,2]})");
  EXPECT_EQ(complete(R"("max_tokens":0)").status, 400);
}

}  // namespace
}  // namespace parhelion::app
