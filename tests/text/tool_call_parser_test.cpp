#include "text/reply/tool_call_parser.h"

#include "base/error.h"
#include "base/file.h"
#include "text/chat_template.h"
#include "text/reply_support.h"
#include "text/template_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace parhelion::text {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

struct CallCase {
  std::string format;
  std::string text;
  std::string expected;
  std::int64_t malformed = 0;
};

Json weather_tools() {
  return parse_json(
      R"([{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object","properties":{)"
      R"("s":{"type":"string"},"i":{"type":"integer"},"b":{"type":"boolean"},"o":{"type":"object"},)"
      R"("n":{"type":["string","null"]}}}}}])",
      "tools");
}

const CallCase kCalls[] = {
    {"tool_call", R"(<tool_call>
{"name": "f", "arguments": {"a": [1, {"b": "}\"]é"}]}}
</tool_call>)",
     R"([0 f|{"a": [1, {"b": "}\"]é"}]}])"},
    {"tool_call",
     "Look.\n\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n"
     "<tool_call>\n{\"name\": \"g\", \"arguments\": {\"x\": -1.5e3}}\n</tool_call>\n",
     "Look.[0 f|{}][1 g|{\"x\": -1.5e3}]"},
    {"tool_call",
     "<tool_call>{\"arguments\": {\"a\": 1}, \"id\": [2], \"name\": \"f\"}</tool_call>",
     "[0 f|{\"a\": 1}]"},
    {"tool_call", "<tool_call>{\"name\": \"f\"}</tool_call> after", "[0 f|{}] after"},
    {"tool_call", R"(<tool_call>{"name": "f", "arguments": "{\"a\": \"b\"}"}</tool_call>)",
     R"([0 f|{"a": "b"}])"},
    {"tool_call", "<tool_call>{\"name\": \"f\", \"arguments\": null}</tool_call>", "[0 f|{}]"},
    {"tool_call", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}", "[0 f|{\"a\": 1}]"},
    {"tool_call", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1", "[0 f|{\"a\": 1", 1},
    {"tool_call", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\" 1}}</tool_call>",
     "[0 f|{\"a\" 1}}</tool_call>", 1},
    {"tool_call", "<tool_call>no call</tool_call> at all", "<tool_call>no call</tool_call> at all",
     1},
    {"tool_call", "<tool_call>{\"name\": 5}</tool_call>", "<tool_call>{\"name\": 5}</tool_call>",
     1},
    {"tool_call", "<tool_call>{\"na", "<tool_call>{\"na", 1},
    {"tool_call", "<tool_call><tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>",
     "<tool_call>[0 f|{}]", 1},
    {"tool_call", "a < b and <tool", "a < b and <tool"},
    {"tool_call", "only text \n", "only text \n"},
    {"tool_call", "", ""},
    {"python_tag", "{\"name\": \"f\", \"parameters\": {\"a\": \"b\"}}", "[0 f|{\"a\": \"b\"}]"},
    {"python_tag", " \n{\"type\": \"function\", \"name\": \"f\", \"parameters\": {}} ", "[0 f|{}]"},
    {"python_tag", "{\"name\": \"Bob\", \"age\": 5}", "{\"name\": \"Bob\", \"age\": 5}", 1},
    {"python_tag", " {no", " {no", 1},
    {"python_tag", "<|python_tag|>{\"name\": \"f\", \"parameters\": {}}", "[0 f|{}]"},
    {"python_tag", "<|python_tag|>search.call(query=\"x\")",
     "<|python_tag|>search.call(query=\"x\")", 1},
    {"bracket_list",
     "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {\"a\": 1}, \"id\": \"abc\"}, "
     "{\"name\": \"g\", \"arguments\": {}}]",
     "[0 f|{\"a\": 1}][1 g|{}]"},
    {"bracket_list", "Hi.[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}}, oh", "Hi.[0 f|{}], oh",
     1},
    {"bracket_list", "[TOOL_CALLS][]", ""},
    {"bracket_args", "[TOOL_CALLS]f[ARGS]{\"a\": 1}[TOOL_CALLS]g[CALL_ID]abc123[ARGS]{}",
     "[0 f|{\"a\": 1}][1 g|{}]"},
    {"bracket_args", "[TOOL_CALLS]f[ARGS][1]", "[TOOL_CALLS]f[ARGS][1]", 1},
    {"action",
     "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"f\", \"parameters\": "
     "{\"a\": 1}}\n]<|END_ACTION|>",
     "[0 f|{\"a\": 1}]"},
    {"action_fenced",
     "Plan: look\nAction: ```json\n[\n{\"tool_name\": \"f\", \"parameters\": {}}\n]\n```",
     "Plan: look[0 f|{}]"},
    {"toolcall_list", "<TOOLCALL>[{\"name\": \"f\", \"arguments\": {}}]</TOOLCALL>", "[0 f|{}]"},
    {"tool_calls_list", "<tool_calls>[{\"name\": \"f\", \"arguments\": {}}]</tool_calls>",
     "[0 f|{}]"},
    {"functools_list", " functools[{\"name\": \"f\", \"arguments\": {}}]", "[0 f|{}]"},
    {"tool_call_list", "<|tool_call|>[{\"name\": \"f\", \"arguments\": {}}]", "[0 f|{}]"},
    {"function_json", "<function=f>{\"a\": 1}</function>", "[0 f|{\"a\": 1}]"},
    {"sep_fenced",
     "Look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\": "
     "1}\n```"
     "<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```"
     "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
     "Look.[0 f|{\"a\": 1}][1 g|{}]"},
    {"sep_plain",
     "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜>"
     "<｜tool▁calls▁end｜>",
     "[0 f|{\"a\": 1}]"},
    {"sep_plain", "<｜tool▁calls▁begin｜>text", "<｜tool▁calls▁begin｜>text"},
    {"call_argument",
     "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>"
     "{\"a\": 1}<|tool_call_end|><|tool_calls_section_end|>",
     "[0 f|{\"a\": 1}]"},
    {"channels",
     "<|channel|>commentary<|message|>Look.<|end|><|start|>assistant<|channel|>commentary "
     "to=functions.f <|constrain|>json<|message|>{\"a\": 1}<|call|>",
     "Look.[0 f|{\"a\": 1}]"},
    {"channels", " to=functions.f<|channel|>commentary json<|message|>{}<|call|>", "[0 f|{}]"},
    {"channels", "<|channel|>final<|message|>Done.<|return|>", "Done."},
    {"function_parameter",
     "<tool_call>\n<function=f>\n<parameter=s>\nline \"one\"\n</two>\n\n</parameter>\n"
     "<parameter=i>\n5\n</parameter>\n<parameter=b>\nTrue\n</parameter>\n<parameter=o>\n"
     "{\"a\": [1]}\n</parameter>\n<parameter=n>\nNone\n</parameter>\n<parameter=u>\nfree text\n"
     "</parameter>\n</function>\n</tool_call>",
     R"([0 f|{"s": "line \"one\"\n</two>\n", "i": 5, "b": true, "o": {"a": [1]}, "n": null, "u": "free text"}])"},
    {"function_parameter", "<tool_call>\n<function=f>\n</function>\n</tool_call>", "[0 f|{}]"},
    {"function_parameter", "<function=f><parameter=s>123</parameter></function>",
     "[0 f|{\"s\": \"123\"}]"},
    {"function_parameter", "<tool_call>\n<function=f>\n<parameter=s>\nhalf </para",
     "[0 f|{\"s\": \"half </para", 1},
    {"function_parameter", "<tool_call>\nno function", "<tool_call>\nno function"},
    {"function_parameter", "<function=f> oh <parameter=s>", "<function=f> oh <parameter=s>", 1},
    {"arg_key",
     "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>Köln</arg_value>\n<arg_key>i</arg_key>\n"
     "<arg_value>2</arg_value>\n</tool_call>",
     "[0 f|{\"s\": \"Köln\", \"i\": 2}]"},
    {"arg_key", "<tool_call>f<arg_key>b</arg_key><arg_value>true</arg_value></tool_call>",
     "[0 f|{\"b\": true}]"},
    {"arg_key", "<tool_call>f\n</tool_call>", "[0 f|{}]"},
    {"invoke",
     "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"s\">a\nb</parameter>\n</invoke>\n"
     "<invoke name=\"g\">\n</invoke>\n</minimax:tool_call>",
     "[0 f|{\"s\": \"a\\nb\"}][1 g|{}]"},
    {"dsml",
     "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"h\">\n<｜DSML｜parameter name=\"a\" "
     "string=\"true\">5</｜DSML｜parameter>\n<｜DSML｜parameter name=\"b\" string=\"false\">5"
     "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
     "[0 h|{\"a\": \"5\", \"b\": 5}]"},
};

ToolCallParser make_parser(const CallCase& item) {
  return ToolCallParser(tool_format(item.format), weather_tools());
}

TEST(ToolCallParser, ReadsTheCallsOfEachFormat) {
  for (const CallCase& item : kCalls) {
    ToolCallParser parser = make_parser(item);
    ReplyEvents events;
    parser.push(item.text, events);
    parser.finish(events);
    EXPECT_EQ(describe(events), item.expected) << item.format << ": " << item.text;
    EXPECT_EQ(parser.malformed_count(), item.malformed) << item.format << ": " << item.text;
  }
}

TEST(ToolCallParser, GivesTheSameForEachCutOfTheText) {
  for (const CallCase& item : kCalls) {
    const auto make = [&] { return make_parser(item); };
    const ReplyEvents whole = read_pieces(make, {item.text});
    for (const auto& pieces : all_cuts(item.text)) {
      ASSERT_EQ(read_pieces(make, pieces), whole) << item.format << ": " << item.text;
    }
  }
}

TEST(ToolCallParser, HasACaseForEachFormat) {
  for (const std::string_view name : tool_format_names()) {
    EXPECT_TRUE(std::any_of(std::begin(kCalls), std::end(kCalls), [&](const CallCase& item) {
      return item.format == name;
    })) << name;
  }
}

TEST(ToolCallParser, TellsACallAsSoonAsItsArgumentsBegin) {
  ToolCallParser parser(tool_format("tool_call"));
  ReplyEvents events;
  parser.push("Hm <tool_call>\n{\"name\": \"f\", \"arguments\": ", events);
  EXPECT_EQ(describe(events), "Hm");
  parser.push("{\"city\": \"Köl", events);
  EXPECT_EQ(describe(events), "Hm[0 f|{\"city\": \"Köl");
  parser.push("n\"}}", events);
  EXPECT_EQ(describe(events), "Hm[0 f|{\"city\": \"Köln\"}]");
  EXPECT_EQ(parser.call_count(), 1);
}

TEST(ToolCallParser, StreamsAStringBetweenMarkersButForWhatMayEndIt) {
  ToolCallParser parser(tool_format("function_parameter"), weather_tools());
  ReplyEvents events;
  parser.push("<function=f><parameter=s>\nabc\n</para", events);
  EXPECT_EQ(describe(events), "[0 f|{\"s\": \"abc");
  parser.push("x", events);
  EXPECT_EQ(describe(events), "[0 f|{\"s\": \"abc\\n</parax");
}

TEST(ToolCallParser, KeepsTextOfDeepNestingForNoCall) {
  const std::string text =
      "<tool_call>{\"name\": \"f\", \"x\": " + std::string(100, '[') + "</tool_call>";
  ToolCallParser parser(tool_format("tool_call"));
  ReplyEvents events;
  parser.push(text, events);
  parser.finish(events);
  EXPECT_EQ(describe(events), text);
}

TEST(ToolFormat, RefusesAnUnknownName) {
  EXPECT_THAT([] { tool_format("morse"); },
              ThrowsMessage<Error>(HasSubstr("tool call format 'morse' is not known, expected")));
  EXPECT_THAT([] { reasoning_format("morse"); },
              ThrowsMessage<Error>(HasSubstr("reasoning format 'morse' is not known, expected")));
}

/// What a template writes for an answer of the assistant, between the prompt and the end.
std::string rendered_answer(const std::string& source, const Json& answer) {
  const ChatTemplate chat(source);
  ChatOptions options{
      .bos_token = "", .eos_token = "", .tools = weather_tools(), .now = golden_time()};
  const Json user = parse_json(R"({"role":"user","content":"Hi"})", "user");
  options.add_generation_prompt = true;
  options.variables = Json::Object{{"enable_thinking", Json(false)},
                                   {"thinking", Json(false)},
                                   {"functions", Json("[]")},
                                   {"datetime", Json("today")}};
  const std::string prompt = chat.render(Json::Array{user}, options);
  options.add_generation_prompt = false;
  const std::string whole = chat.render(Json::Array{user, answer}, options);
  std::size_t common = 0;
  while (common < prompt.size() && common < whole.size() && prompt[common] == whole[common])
    ++common;
  while (common > 0 && whole[common - 1] == '<') --common;  // both may begin a marker here
  return whole.substr(common);
}

std::string model_source(const std::string& name) {
  return read_file(std::filesystem::path(PARHELION_TEST_DATA) / "text/templates/models" /
                   (name + ".jinja"));
}

TEST(ToolFormat, ReadsBackTheCallsThatTemplatesOfModelsWrite) {
  const Json answer = parse_json(
      R"({"role":"assistant","content":"","tool_calls":[{"id":"call12345","type":"function","function":)"
      R"({"name":"f","arguments":{"s":"Köln \"x\"","i":2,"o":{"a":[1,null]}}}}]})",
      "answer");
  const auto expect = [&](const char* model, const char* format) {
    const std::string source = model_source(model);
    const ReplyFormat detected = detect_reply_format(source);
    ASSERT_TRUE(detected.tools.has_value()) << model;
    EXPECT_EQ(detected.tools->name, format) << model;
    ToolCallParser parser(*detected.tools, weather_tools());
    ReplyEvents events;
    parser.push(rendered_answer(source, answer), events);
    parser.finish(events);
    EXPECT_THAT(describe(events),
                HasSubstr(R"([0 f|{"s": "Köln \"x\"", "i": 2, "o": {"a": [1, null]}}])"))
        << model;
  };
  expect("Qwen-Qwen3-0.6B", "tool_call");
  expect("Qwen-Qwen2.5-7B-Instruct", "tool_call");
  expect("ibm-granite-granite-4.0", "tool_call");
  expect("Qwen3-Coder", "function_parameter");
  expect("Qwen3.5-4B", "function_parameter");
  expect("StepFun3.5-Flash", "function_parameter");
  expect("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "function_parameter");
  expect("GLM-4.6", "arg_key");
  expect("GLM-4.7-Flash", "arg_key");
  expect("MiniMax-M2", "invoke");
  expect("deepseek-ai-DeepSeek-V3.1", "sep_plain");
  expect("deepseek-ai-DeepSeek-V3.2", "dsml");
  expect("deepseek-ai-DeepSeek-V4", "dsml");
  expect("mistralai-Ministral-3-14B-Reasoning-2512", "bracket_args");
  expect("mistralai-Mistral-Nemo-Instruct-2407", "bracket_list");
  expect("meta-llama-Llama-3.1-8B-Instruct", "python_tag");
  expect("meta-llama-Llama-3.2-3B-Instruct", "python_tag");
  expect("meta-llama-Llama-3.3-70B-Instruct", "python_tag");
  expect("NVIDIA-Nemotron-Nano-v2", "toolcall_list");
  expect("CohereForAI-c4ai-command-r7b-12-2024-tool_use", "action");
  expect("fireworks-ai-llama-3-firefunction-v2", "functools_list");
  expect("meetkai-functionary-medium-v3.1", "function_json");
  expect("openai-gpt-oss-120b", "channels");
  expect("unsloth-Apriel-1.5", "tool_calls_list");
}

TEST(ToolFormat, IsNoneForTemplatesWhoseCallsAreNotRead) {
  for (const char* model : {"MiniMax-M3", "google-gemma-4-31B-it", "Kimi-K3", "tencent-Hy3",
                            "Apertus-8B-Instruct", "google-gemma-2-2b-it"}) {
    EXPECT_EQ(detect_reply_format(model_source(model)).tools, std::nullopt) << model;
  }
}

TEST(ReasoningFormat, IsKnownByWhatATemplateShows) {
  const auto expect = [](const char* model, const char* format) {
    const std::optional<ReasoningFormat> found = detect_reply_format(model_source(model)).reasoning;
    EXPECT_EQ(found ? found->name : "none", format) << model;
  };
  expect("Qwen-Qwen3-0.6B", "think");
  expect("HuggingFaceTB-SmolLM3-3B", "think");
  expect("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "think");
  expect("openai-gpt-oss-120b", "channels");
  expect("ByteDance-Seed-OSS", "seed_think");
  expect("MiniMax-M3", "mm_think");
  expect("mistralai-Ministral-3-14B-Reasoning-2512", "bracket_think");
  expect("CohereForAI-c4ai-command-r7b-12-2024-tool_use", "start_thinking");
  expect("Apertus-8B-Instruct", "inner");
  expect("Qwen-Qwen2.5-7B-Instruct", "none");
  expect("HuggingFaceTB-SmolLM2-135M-Instruct", "none");
  expect("meta-llama-Llama-3.1-8B-Instruct", "none");
}

}  // namespace
}  // namespace parhelion::text
