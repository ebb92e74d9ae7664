#include "text/template_traits.h"

#include "base/file.h"
#include "text/template_support.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace parhelion::text {
namespace {

TemplateTraits traits_of(const std::string& source) {
  const ChatOptions options{.bos_token = "<s>", .eos_token = "</s>", .now = golden_time()};
  return probe_template(ChatTemplate(source), options, detect_reply_format(source).reasoning);
}

TemplateTraits model_traits(const std::string& name) {
  const auto models = std::filesystem::path(PARHELION_TEST_DATA) / "text/templates/models";
  return traits_of(read_file(models / (name + ".jinja")));
}

TEST(TemplateTraits, TellThatAToggleOpensReasoning) {
  EXPECT_EQ(model_traits("Qwen-Qwen3-0.6B").prompt_reasoning, PromptReasoning::never);
  EXPECT_EQ(model_traits("deepseek-ai-DeepSeek-V3.1").prompt_reasoning,
            PromptReasoning::by_variable);
  EXPECT_EQ(model_traits("deepseek-ai-DeepSeek-R1-Distill-Llama-8B").prompt_reasoning,
            PromptReasoning::always);
}

TEST(TemplateTraits, TellInWhichFormCallsAreTaken) {
  EXPECT_EQ(model_traits("Qwen-Qwen3-0.6B").call_arguments, CallArguments::object);
  EXPECT_EQ(model_traits("meta-llama-Llama-3.1-8B-Instruct").call_arguments, CallArguments::object);
  EXPECT_EQ(model_traits("deepseek-ai-DeepSeek-R1-Distill-Llama-8B").call_arguments,
            CallArguments::text);
  EXPECT_TRUE(model_traits("deepseek-ai-DeepSeek-R1-Distill-Llama-8B").calls_lack_content);
  EXPECT_EQ(model_traits("HuggingFaceTB-SmolLM2-135M-Instruct").call_arguments,
            CallArguments::none);
}

TEST(TemplateTraits, TellWhatAModelTakes) {
  const TemplateTraits expected = {.takes_system = true,
                                   .takes_developer = true,
                                   .takes_text = true,
                                   .takes_parts = false,
                                   .takes_tools = true,
                                   .takes_tool_results = true,
                                   .call_arguments = CallArguments::object,
                                   .adds_generation_prompt = true,
                                   .reasoning_field = "reasoning_content"};
  TemplateTraits traits = model_traits("Qwen-Qwen3-0.6B");
  traits.takes_developer = true;
  EXPECT_EQ(traits, expected);
  EXPECT_FALSE(model_traits("google-gemma-2-2b-it").takes_system);
  EXPECT_TRUE(model_traits("meta-llama-Llama-3.2-3B-Instruct").takes_tools);
  EXPECT_TRUE(model_traits("HuggingFaceTB-SmolLM2-135M-Instruct").takes_text);
  EXPECT_TRUE(model_traits("Qwen3.5-4B").takes_parts);
}

TEST(TemplateTraits, TakeNothingThatTheTemplateRefuses) {
  EXPECT_EQ(traits_of("{{ raise_exception('no') }}"), TemplateTraits{});
}

TEST(TemplateTraits, TellPartsThatArePrintedAsTheyStand) {
  const TemplateTraits traits = traits_of("{% for m in messages %}{{ m.content }}{% endfor %}");
  EXPECT_TRUE(traits.takes_text);
  EXPECT_FALSE(traits.takes_parts);
}

}  // namespace
}  // namespace parhelion::text
