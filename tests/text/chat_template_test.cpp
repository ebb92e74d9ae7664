#include "text/chat_template.h"

#include "base/error.h"
#include "base/file.h"
#include "text/template_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace parhelion::text {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

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

Json read_golden_language() {
  const auto path = std::filesystem::path(PARHELION_TEST_DATA) / "text/templates/language.json";
  return parse_json(read_file(path), "language.json");
}

TEST(ChatTemplate, KeepsTheLanguageOfJinja) {
  const Json golden = read_golden_language();
  const Json& messages = *golden.find("messages");
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

TEST(ChatTemplate, NamesAKeyThatJsonHasNot) {
  const auto render = [](const char* source) { ChatTemplate(source).render({}); };
  EXPECT_THAT([&] { render("{{ {missing: 1}|tojson }}"); },
              ThrowsMessage<Error>(HasSubstr("Object of type Undefined is not JSON")));
  EXPECT_THAT([&] { render("{{ [{(1, 2): {}}]|tojson }}"); },
              ThrowsMessage<Error>(HasSubstr("a key of type tuple is not supported")));
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
  expect("{{ 1 is filter }}", "chat template line 1: test 'filter' is not supported");
  expect("{{ 'a'.zfill(3) }}", "chat template line 1: method 'zfill' is not supported");
  expect("{{ '{:>3}'.format(1) }}", "chat template line 1: format field '{:>3}' is not supported");
  expect("{{ ('<'|safe).replace('a', 'b') }}",
         "chat template line 1: method 'replace' of marked text is not supported");
  expect("{{ f(*x) }}", "chat template line 1: arguments with * are not supported");
  expect("{{ '%c' % 1 }}", "chat template line 1: format field '%c' is not supported");
  expect("{{ 5|round(-1) }}", "chat template line 1: round to this precision is not supported");
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
