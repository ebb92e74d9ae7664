#include "text/template_facts.h"

#include "base/error.h"
#include "base/file.h"
#include "text/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace parhelion::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

std::vector<std::string> variables_of(std::string_view source) {
  return ChatTemplate(source).facts().variables;
}

ChatTemplate model_template(const std::string& name) {
  const auto models = std::filesystem::path(PARHELION_TEST_DATA) / "text/templates/models";
  return ChatTemplate(read_file(models / (name + ".jinja")));
}

TEST(TemplateFacts, ListWhatATemplateUses) {
  const TemplateFacts facts =
      ChatTemplate(
          "{% for m in messages if m is mapping %}{{ m.content.strip()|trim|upper }}{% endfor %}"
          "{% set n = namespace(a=1) %}{% if x|nothing %}{{ raise_exception(n.a) }}{% endif %}")
          .facts();
  EXPECT_THAT(facts.statements, ElementsAre("for", "if", "set"));
  EXPECT_THAT(facts.filters, ElementsAre("trim", "upper"));
  EXPECT_THAT(facts.tests, ElementsAre("mapping"));
  EXPECT_THAT(facts.functions, ElementsAre("namespace", "raise_exception"));
  EXPECT_THAT(facts.methods, ElementsAre("strip"));
  EXPECT_THAT(facts.variables, ElementsAre("messages", "x"));
  EXPECT_THAT(facts.unknown_filters, ElementsAre("nothing"));
}

TEST(TemplateFacts, KnowAVariableThatTheTemplateSetsOnlyIfItIsAbsent) {
  EXPECT_THAT(variables_of("{% if d is not defined %}{% set d = 1 %}{% endif %}{{ d }}"),
              ElementsAre("d"));
}

TEST(TemplateFacts, LeaveOutNamesThatTheTemplateSets) {
  EXPECT_THAT(variables_of("{% set a = 1 %}{{ a }}"), IsEmpty());
  EXPECT_THAT(
      variables_of("{% if true %}{% set a = 1 %}{% else %}{% set a = 2 %}{% endif %}{{ a }}"),
      IsEmpty());
  EXPECT_THAT(variables_of("{% for a, b in [] %}{{ a }}{{ b }}{{ loop.index }}{% endfor %}"),
              IsEmpty());
  EXPECT_THAT(variables_of("{% macro m(p, q=1) %}{{ p }}{{ q }}{{ later }}{{ m(1) }}{% endmacro %}"
                           "{% set later = 1 %}{{ m(1) }}"),
              IsEmpty());
}

TEST(TemplateFacts, KnowThatALoopKeepsItsNames) {
  EXPECT_THAT(variables_of("{% for a in [] %}{% set b = a %}{% endfor %}{{ a }}{{ b }}"),
              ElementsAre("a", "b"));
}

TEST(TemplateFacts, NameTheVariablesOfModels) {
  EXPECT_THAT(settable_variables(model_template("Qwen-Qwen3-0.6B").facts()),
              ElementsAre("enable_thinking"));
  EXPECT_THAT(settable_variables(model_template("openai-gpt-oss-120b").facts()),
              ElementsAre("builtin_tools", "model_identity", "reasoning_effort"));
  EXPECT_THAT(settable_variables(model_template("meta-llama-Llama-3.1-8B-Instruct").facts()),
              ElementsAre("builtin_tools", "custom_tools", "date_string", "tools_in_user_message"));
  EXPECT_THAT(settable_variables(model_template("HuggingFaceTB-SmolLM2-135M-Instruct").facts()),
              IsEmpty());
}

TEST(TemplateFacts, RefuseAVariableThatTheTemplateDoesNotRead) {
  const TemplateFacts facts = ChatTemplate("{{ messages }}{{ enable_thinking }}").facts();
  check_template_variables(facts, Json::Object{{"enable_thinking", Json(true)}});
  EXPECT_THAT(
      [&] {
        check_template_variables(facts, Json::Object{{"thinking", Json(true)}});
      },
      ThrowsMessage<Error>("chat template variable 'thinking' is not one that the template "
                           "reads: enable_thinking"));
  EXPECT_THAT(
      [&] {
        check_template_variables(facts, Json::Object{{"messages", Json(true)}});
      },
      ThrowsMessage<Error>(HasSubstr("'messages'")));
}

TEST(TemplateFacts, RefuseNamesOfJinjaThatTheEngineLacks) {
  const auto expect = [](const char* source, const char* message) {
    EXPECT_THAT([&] { ChatTemplate{source}; }, ThrowsMessage<Error>(message));
  };
  expect("a\n{{ cycler(1) }}", "chat template line 2: 'cycler' is not supported");
  expect("{% for x in [] %}{{ loop.cycle(1) }}{% endfor %}",
         "chat template line 1: 'loop.cycle' is not supported");
  expect("{{ 'a'.casefold() }}", "chat template line 1: method 'casefold' is not supported");
  expect("{% macro m() %}{{ varargs }}{% endmacro %}",
         "chat template line 1: 'varargs' is not supported");
}

}  // namespace
}  // namespace parhelion::text
