#include "text/chat_template.h"

#include "base/error.h"
#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace parhelion::text {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// 7 March 2026, 9:05:02, as tests/golden/chat_template.py has it.
std::tm golden_time() {
  std::tm time{};
  time.tm_year = 126;
  time.tm_mon = 2;
  time.tm_mday = 7;
  time.tm_wday = 6;
  time.tm_yday = 65;
  time.tm_hour = 9;
  time.tm_min = 5;
  time.tm_sec = 2;
  return time;
}

ChatOptions read_options(const Json& json) {
  ChatOptions options{.now = golden_time()};
  if (const Json* flag = json.find("add_generation_prompt")) {
    options.add_generation_prompt = flag->as_bool("flag");
  }
  if (const Json* bos = json.find("bos_token")) options.bos_token = bos->as_string("bos");
  if (const Json* eos = json.find("eos_token")) options.eos_token = eos->as_string("eos");
  if (const Json* tools = json.find("tools")) options.tools = *tools;
  if (const Json* variables = json.find("variables")) options.variables = *variables;
  return options;
}

/// What rendering gives: the text, or "error" if it throws one of kind invalid.
std::string outcome(const ChatTemplate& chat, const Json& messages, const ChatOptions& options) {
  try {
    return chat.render(messages, options);
  } catch (const Error& error) {
    return error.kind() == ErrorKind::invalid ? "error" : error.what();
  }
}

std::string expected_outcome(const Json& golden) {
  const Json* text = golden.find("text");
  return text != nullptr ? text->as_string("text") : "error";
}

Json read_golden_templates() {
  const auto path = std::filesystem::path(PARHELION_TEST_DATA) / "text/templates/golden.json";
  return parse_json(read_file(path), "golden.json");
}

TEST(ChatTemplate, RendersTheTemplatesOfModelsAsJinjaDoes) {
  const Json golden = read_golden_templates();
  for (const Json& model : golden.find("models")->as_array("models")) {
    const ChatTemplate chat(model.find("source")->as_string("source"));
    for (const Json& item : model.find("renders")->as_array("renders")) {
      const std::string& name = item.find("chat")->as_string("chat");
      const auto index = static_cast<std::size_t>(item.find("options")->as_int64("options"));
      const Json& options = golden.find("options")->as_array("options")[index];
      EXPECT_EQ(outcome(chat, *golden.find("chats")->find(name), read_options(options)),
                expected_outcome(item))
          << model.find("name")->as_string("name") << ", " << name << ", options " << index;
    }
  }
}

TEST(ChatTemplate, KeepsTheLanguageOfJinja) {
  const Json golden = read_golden_templates();
  const Json& messages = *golden.find("chats")->find("system_turns");
  for (const Json& item : golden.find("snippets")->as_array("snippets")) {
    const std::string& source = item.find("source")->as_string("source");
    std::string result;
    try {
      result = outcome(ChatTemplate(source), messages, {.now = golden_time()});
    } catch (const Error& error) {
      result = error.what();
    }
    EXPECT_EQ(result, expected_outcome(item)) << source;
  }
}

TEST(ChatTemplate, PassesOnTheTextOfAnException) {
  EXPECT_THAT([] { ChatTemplate("{{ raise_exception('roles must alternate') }}").render({}); },
              ThrowsMessage<Error>("chat template: roles must alternate"));
}

TEST(ChatTemplate, NamesTheLineOfAnError) {
  EXPECT_THAT([] { ChatTemplate("a\n{{ x.y }}").render({}); },
              ThrowsMessage<Error>("chat template line 2: 'x' is undefined"));
  EXPECT_THAT([] { ChatTemplate("a\n\n{% if x"); },
              ThrowsMessage<Error>("chat template line 3: a tag has no end"));
  EXPECT_THAT([] { ChatTemplate("{% if x %}\n"); }, ThrowsMessage<Error>(HasSubstr("endif")));
  EXPECT_THAT([] { ChatTemplate("{{ (1 }}"); }, ThrowsMessage<Error>(HasSubstr("unexpected '}'")));
}

TEST(ChatTemplate, NamesWhatIsNotSupported) {
  const auto expect = [](const char* source, const char* message) {
    try {
      ChatTemplate(source).render(Json::Array{});
      FAIL() << "no error, expected " << message;
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), message);
      EXPECT_EQ(error.kind(), ErrorKind::unsupported) << message;
    }
  };
  expect("\n{% include 'x' %}", "chat template line 2: statement 'include' is not supported");
  expect("{{ 1|wordcount }}", "chat template line 1: filter 'wordcount' is not supported");
  expect("{{ 1 is sameas 1 }}", "chat template line 1: test 'sameas' is not supported");
  expect("{{ '{}'.format(1) }}", "chat template line 1: method 'format' of str is not supported");
  expect("{{ messages.append(1) }}",
         "chat template line 1: method 'append' of list is not supported");
  expect("{{ f(*x) }}", "chat template line 1: arguments with * are not supported");
  expect("{{ '%s' % 1 }}", "chat template line 1: '%' on a string is not supported");
  expect("{{ 99999999999999999999 }}",
         "chat template line 1: integer 99999999999999999999 is not supported, expected 64 bits");
}

TEST(ChatTemplate, StopsAtItsLimits) {
  const auto expect = [](const std::string& source, const char* message) {
    EXPECT_THAT([&] { ChatTemplate(source).render({}); }, ThrowsMessage<Error>(HasSubstr(message)))
        << source.substr(0, 60);
  };
  expect("{% for i in range(99999999) %}{% endfor %}", "takes more than 5000000 steps");
  expect("{{ 'a' * 9999999999 }}", "takes more than 5000000 steps");
  expect(
      "{% set n = namespace(s='ab') %}{% for i in range(60) %}{% set n.s = n.s ~ n.s %}{% endfor "
      "%}",
      "takes more than 5000000 steps");
  expect("{% set n = namespace(l=[]) %}{% for i in range(500) %}{% set n.l = [n.l] %}{% endfor %}",
         "values are nested deeper than 128 levels");
  for (const char* use : {"{{ n.l }}", "{{ n.l|tojson }}", "{{ n.l == n.m }}", "{{ n.l ~ '' }}"}) {
    expect(
        std::string(
            "{% set n = namespace(l=[], m=[]) %}{% for i in range(60) %}{% set n.l = [n.l, n.l] %}"
            "{% set n.m = [n.m, n.m] %}{% endfor %}") +
            use,
        "takes more than 5000000 steps");
  }
  expect("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "nested too deep");
  expect("{{ " + std::string(3000, '(') + "1" + std::string(3000, ')') + " }}",
         "nested deeper than 100");
  expect("{{ " + std::string(9000, '-') + "1 }}", "an expression has more than 5000 parts");
  std::string blocks;
  for (int i = 0; i < 200; ++i) blocks += "{% if true %}";
  expect(blocks, "nested deeper than 100");
  const std::string source = "{% for i in range(100) %}aaaaaaaaaa{% endfor %}";
  EXPECT_THAT([&] { ChatTemplate(source).render({}, {.limits = {.output_bytes = 999}}); },
              ThrowsMessage<Error>("chat template line 1: gives more than 999 bytes"));
}

TEST(ChatTemplate, HasNoClockUnlessItIsGivenOne) {
  const ChatTemplate chat("{{ strftime_now is defined }}");
  EXPECT_EQ(chat.render({}), "False");
  EXPECT_EQ(chat.render({}, {.now = golden_time()}), "True");
}

TEST(ChatTemplate, FreesNamespacesThatHoldEachOther) {
  const ChatTemplate chat(
      "{% set n = namespace() %}{% set n.self = n %}{% set n.list = [n] %}"
      "{% for i in range(20000) %}{% set n.next = namespace(last=n.next) %}{% endfor %}ok");
  EXPECT_EQ(chat.render({}), "ok");
}

}  // namespace
}  // namespace parhelion::text
