#pragma once

#include "base/error.h"

#include "http_support.h"

namespace parhelion::app {

inline const std::string kTool =
    R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object",)"
    R"("properties":{"a":{"type":"integer","enum":[1,2]}},"required":["a"],)"
    R"("additionalProperties":false}}}])";

class ToolsTest : public HttpTest {
 protected:
  ToolsTest() { served_ = calling_model(); }
  Received chat(const std::string& members) const {
    return post(
        "/v1/chat/completions",
        R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":200,)" + members + "}");
  }
  static Json choice_of(const Received& reply) {
    ensure(reply.status == 200, ErrorKind::invalid, "{}", reply.body);
    return reply.json().find("choices")->as_array("choices").front();
  }
};

}  // namespace parhelion::app
