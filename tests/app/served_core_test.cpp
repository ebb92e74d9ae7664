#include "app/command_support.h"
#include "app/http/http_support.h"
#include "app/model_test_support.h"
#include "app/served_engine.h"
#include "app/tiny_core.h"
#include "base/error.h"
#include "contract/encoding.h"
#include "contract/small_core.h"

#include <gmock/gmock.h>

namespace parhelion::app {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::filesystem::path corpus_file(const std::string& name) {
  return std::filesystem::path(PARHELION_TEST_DATA).parent_path() / "corpus" / name;
}

ServingChoice choice_of(const std::filesystem::path& core) {
  ServingChoice choice;
  choice.model = core;
  choice.executor.threads = 1;
  choice.trust = corpus_trust();
  choice.warm_seconds = 0;
  return choice;
}

/// A server of what a choice says, in this process.
class RunningServer {
 public:
  explicit RunningServer(const ServingChoice& choice)
      : engine_(start_engine(choice, [](std::string_view why) { ADD_FAILURE() << why; })),
        api_(engine_.model, *engine_.engine, {}),
        http_({}, api_) {}

  Received post(const std::string& path, const std::string& body) {
    RawClient client(http_.port());
    client.send(post_text(path, body));
    return client.receive();
  }
  Received get(const std::string& path) {
    RawClient client(http_.port());
    client.send("GET " + path + " HTTP/1.1\r\nhost: x\r\n\r\n");
    return client.receive();
  }
  /// What it completes as in core_tokens: ids, or with their log-probabilities.
  Json completion(double temperature, bool logs) {
    const Received received =
        post("/v1/completions",
             fmt::format(R"({{"prompt": [5, 9, 12, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49],
                     "max_tokens": 24, "temperature": {}, "seed": 7, "ignore_eos": true,
                     "return_token_ids": true{}}})",
                         temperature, logs ? R"(, "logprobs": 1)" : ""));
    EXPECT_EQ(received.status, 200) << received.body;
    return received.json().find("choices")->as_array("choices").front();
  }
  const ServedModel& model() const { return engine_.model; }

 private:
  ServedEngine engine_;
  Api api_;
  HttpServer http_;
};

std::string ids_line(const Json& completion) {
  std::vector<std::int64_t> ids;
  for (const Json& id : completion.find("token_ids")->as_array("ids"))
    ids.push_back(id.as_int64("id"));
  return fmt::format("{}\n", fmt::join(ids, " "));
}

std::vector<std::string> corpus_cores() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(corpus_file("")))
    if (entry.path().extension() == ".core") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

class CorpusCore : public ModelFilesTest, public testing::WithParamInterface<std::string> {
 protected:
  std::filesystem::path path() const { return corpus_file(GetParam() + ".core"); }

  /// Serves a file with these bytes, as who trusts anybody.
  std::string refusal_of(const std::string& bytes) const {
    ServingChoice choice = choice_of(put("bad.core", bytes));
    choice.trust.allow_unsigned = true;
    try {
      start_engine(choice, [](std::string_view) {});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};
INSTANTIATE_TEST_SUITE_P(All, CorpusCore, testing::ValuesIn(corpus_cores()),
                         [](const auto& one) { return one.param; });

TEST_P(CorpusCore, SaysOverHttpWhatItSaidWhenItWasMade) {
  RunningServer server(choice_of(path()));
  const std::string said =
      ids_line(server.completion(0, false)) + ids_line(server.completion(1, false));
  EXPECT_EQ(said, read_file(corpus_file(GetParam() + ".tokens")));
}

TEST_P(CorpusCore, AnswersAChatThroughItsTemplate) {
  RunningServer server(choice_of(path()));
  const Received received =
      server.post("/v1/chat/completions",
                  R"({"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4})");
  EXPECT_EQ(received.status, 200) << received.body;
  EXPECT_GT(received.json().find("usage")->find("prompt_tokens")->as_int64("tokens"), 4);
}

TEST_P(CorpusCore, AnswersWithinACacheThatIsSmallerThanItsContext) {
  ServingChoice choice = choice_of(path());
  choice.cache_tokens = 32;
  RunningServer server(choice);
  const Received received = server.post(
      "/v1/chat/completions",
      R"({"messages": [{"role": "user", "content": "Hi"}], "ignore_eos": true, "temperature": 0})");
  ASSERT_EQ(received.status, 200) << received.body;
  EXPECT_EQ(*received.json().find("usage")->find("total_tokens"), Json(32));
  const Received refused = server.post("/v1/completions", R"({"prompt": "a", "max_tokens": 32})");
  EXPECT_EQ(refused.code(), "context_length_exceeded");
}

TEST_P(CorpusCore, TellsWhatItServes) {
  RunningServer server(choice_of(path()));
  const contract::Core core = contract::read_core(path(), corpus_trust());
  const Json told = server.get("/v1/core").json();
  EXPECT_EQ(*told.find("digest"), Json(core.digest));
  EXPECT_EQ(*told.find("signature"), Json("signed by a trusted key"));
  EXPECT_EQ(*told.find("signer"), Json("corpus"));
}

TEST_P(CorpusCore, IsNotServedWithoutATrustedSignature) {
  ServingChoice choice = choice_of(path());
  choice.trust = {};
  EXPECT_THAT([&] { start_engine(choice, [](std::string_view) {}); },
              ThrowsMessage<Error>(HasSubstr("SIG_UNTRUSTED_KEY")));
}

TEST_P(CorpusCore, IsNotServedWithAWrongSignature) {
  std::string bytes = read_file(path());
  bytes[bytes.size() - static_cast<std::size_t>(contract::kSignatureBytes) + 40] ^= 1;
  ServingChoice choice = choice_of(put("bad.core", bytes));
  choice.trust.allow_unsigned = true;
  EXPECT_THAT([&] { start_engine(choice, [](std::string_view) {}); },
              ThrowsMessage<Error>(HasSubstr("SIG_INVALID")));
}

TEST_P(CorpusCore, IsNotServedCutAtAnySection) {
  const std::string whole = read_file(path());
  for (const contract::SectionEntry& section : contract::take_apart(whole).sections) {
    for (const std::int64_t at :
         {section.offset, section.offset + section.bytes / 2, section.offset + section.bytes}) {
      EXPECT_THAT(refusal_of(whole.substr(0, static_cast<std::size_t>(at))),
                  HasSubstr("CORE_SECTION_RANGE"))
          << contract::section_name(section.kind);
    }
  }
}

TEST_P(CorpusCore, IsNotServedWithAFlippedByteInAnySection) {
  const std::string whole = read_file(path());
  for (const contract::SectionEntry& section : contract::take_apart(whole).sections) {
    std::string flipped = whole;
    flipped[static_cast<std::size_t>(section.offset + section.bytes / 2)] ^= 0x40;
    EXPECT_THAT(refusal_of(flipped), HasSubstr("CORE_LEAF_DIGEST"))
        << contract::section_name(section.kind);
  }
}

/// A core of which the contract was changed by somebody who knows the format.
std::string forged(const std::string& whole,
                   const std::function<void(contract::Contract&)>& change) {
  contract::CoreParts parts = contract::take_apart(whole);
  for (std::size_t i = 0; i < parts.sections.size(); ++i) {
    if (parts.sections[i].kind != static_cast<std::uint32_t>(contract::SectionKind::contract))
      continue;
    contract::EncodedContract encoded = contract::decode(contract::as_bytes(parts.contents[i]));
    change(encoded.contract);
    parts.contents[i] = contract::encode(encoded.contract, encoded.weights);
  }
  return contract::put_together(parts);
}

TEST_P(CorpusCore, IsNotServedWithAHostileProgram) {
  const std::string whole = read_file(path());
  EXPECT_EQ(refusal_of(forged(whole, [](contract::Contract&) {})), "");
  EXPECT_THAT(refusal_of(forged(whole, [](auto& c) { c.extend.ops.pop_back(); })),
              HasSubstr("CORE_CONTRACT_INVALID"));
  EXPECT_THAT(
      refusal_of(forged(whole, [](auto& c) { c.extend.ops.at(3).inputs.at(0).value = {}; })),
      HasSubstr("CORE_CONTRACT_INVALID"));
  const auto overlap = [](contract::Contract& c) {
    for (ir::Range& range : c.plans.front().memory.of_value) range.offset = 0;
  };
  EXPECT_THAT(refusal_of(forged(whole, overlap)), HasSubstr("CORE_CONTRACT_INVALID"));
  EXPECT_THAT(refusal_of(forged(whole, [](auto& c) { c.vocabulary = 1 << 30; })),
              HasSubstr("CORE_CONTRACT_INVALID"));
  EXPECT_THAT(refusal_of(forged(whole, [](auto& c) { c.cache.page_tokens = -1; })),
              HasSubstr("CORE_CONTRACT_INVALID"));
}

class ServedCore : public ModelFilesTest {
 protected:
  /// A choice of the corpus' core with something else in its contract.
  ServingChoice changed(const std::function<void(contract::Contract&)>& change) const {
    ServingChoice choice =
        choice_of(put("changed.core", forged(read_file(corpus_file("tiny.core")), change)));
    choice.trust.allow_unsigned = true;
    return choice;
  }
  static void expect_refusal(const ServingChoice& choice, const std::string& message) {
    EXPECT_THAT([&] { start_engine(choice, [](std::string_view) {}); },
                ThrowsMessage<Error>(HasSubstr(message)));
  }
  ServingChoice choice_ = choice_of(corpus_file("tiny.core"));
};

TEST_F(ServedCore, MayHaveLessThanItWasPreparedFor) {
  choice_.rows = 1;
  choice_.context_tokens = 64;
  choice_.step_tokens = 8;
  RunningServer server(choice_);
  EXPECT_EQ(server.model().context_tokens, 64);
  EXPECT_EQ(ids_line(server.completion(0, false)) + ids_line(server.completion(1, false)),
            read_file(corpus_file("tiny.tokens")));
}

TEST_F(ServedCore, HasNoMoreThanItWasPreparedFor) {
  choice_.rows = 3;
  expect_refusal(choice_, "LIMIT_RAISED: --max-rows: is 3, expected at most 2");
  choice_.rows = 0;
  choice_.context_tokens = 129;
  expect_refusal(choice_, "LIMIT_RAISED: --context: is 129, expected at most 128");
  choice_.context_tokens = 0;
  choice_.step_tokens = 65;
  expect_refusal(choice_, "LIMIT_RAISED: --step-tokens: is 65, expected at most 64");
  choice_.step_tokens = 0;
  choice_.dtype = "f32";
  expect_refusal(choice_, "--dtype: is f32");
  choice_.dtype = "";
  choice_.adapter = "adapter";
  expect_refusal(choice_, "--adapter: a core takes none");
}

TEST_F(ServedCore, KeepsTheLimitsOfItsContract) {
  RunningServer server(changed([](contract::Contract& c) { c.limits.prompt_tokens = 12; }));
  const Received received =
      server.post("/v1/completions", R"({"prompt": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]})");
  EXPECT_EQ(received.status, 400) << received.body;
  EXPECT_THAT(received.body, HasSubstr("prompt tokens: is 13, expected at most 12"));
}

TEST_F(ServedCore, RunsOnTheDeviceThatItWasPreparedFor) {
  choice_.names_device = true;
  EXPECT_NO_THROW(start_engine(choice_, [](std::string_view) {}));
  choice_.executor.device = "cuda";
  expect_refusal(choice_, "DEVICE_MISMATCH: the core requires --device cpu, found --device cuda");
  ServingChoice other = changed([](contract::Contract& c) {
    c.target = {.device = contract::DeviceKind::cuda, .numerics = contract::Numerics::invariant};
  });
  other.names_device = true;
  expect_refusal(other, "DEVICE_MISMATCH: the core requires --device cuda, found --device cpu");
  other.names_device = false;
  other.names_numerics = true;
  expect_refusal(other, "requires --numerics invariant, found --numerics exact");
}

TEST_F(ServedCore, RunsOnTheArchitectureThatItWasPreparedFor) {
  expect_refusal(changed([](contract::Contract& c) { c.target.architecture = "abacus"; }),
                 "DEVICE_MISMATCH: the core requires architecture abacus, found cpu");
}

TEST_F(ServedCore, NeedsTheMemoryThatItSays) {
  expect_refusal(
      changed([](contract::Contract& c) { c.target.memory_bytes = std::int64_t{1} << 50; }),
      "BUDGET_EXCEEDED: the core with a cache of 256 tokens requires");
  expect_refusal(changed([](contract::Contract& c) {
                   c.target.memory_bytes = std::numeric_limits<std::int64_t>::max();
                 }),
                 "BUDGET_EXCEEDED: the core with a cache of 256 tokens requires");
}

class CoreAndModel : public ModelFilesTest, public testing::WithParamInterface<ir::Kind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, CoreAndModel, testing::Values(ir::Kind::f32, ir::Kind::bf16),
                         [](const auto& one) { return std::string(ir::name(one.param)); });

TEST_P(CoreAndModel, SayTheSameOverHttpBitForBit) {
  for (const auto& source : {tiny_directory(), tiny_gguf()}) {
    write_model_core(directory_ / "m.core", source, source, GetParam());
    RunningServer core(choice_of(directory_ / "m.core"));
    ServingChoice choice = choice_of(source);
    choice.dtype = ir::name(GetParam());
    RunningServer model(choice);
    for (const double temperature : {0.0, 1.0})
      EXPECT_EQ(core.completion(temperature, true), model.completion(temperature, true));
  }
}

class CoreOfAdapter : public ModelFilesTest,
                      public testing::WithParamInterface<prepare::AdapterUse> {};
INSTANTIATE_TEST_SUITE_P(Uses, CoreOfAdapter,
                         testing::Values(prepare::AdapterUse::merge, prepare::AdapterUse::keep),
                         [](const auto& one) {
                           return one.param == prepare::AdapterUse::merge ? "merge" : "keep";
                         });

TEST_P(CoreOfAdapter, SaysWhatTheModelSaysWithIt) {
  const std::filesystem::path adapter =
      std::filesystem::path(PARHELION_TEST_DATA) / "model" / "peft_tiny";
  const model::OpenedModel opened = open_with_adapter(tiny_directory(), adapter);
  prepare::PrepareOptions options = corpus_options(tiny_directory(), ir::Kind::f32);
  options.core.adapter = GetParam();
  prepare::prepare_core(opened, options, directory_ / "m.core");
  RunningServer core(choice_of(directory_ / "m.core"));
  ServingChoice choice = choice_of(tiny_directory());
  choice.dtype = "f32";
  choice.adapter = adapter;
  RunningServer model(choice);
  const Json said = core.completion(0, true);
  const Json expected = model.completion(0, true);
  EXPECT_EQ(ids_line(said), ids_line(expected));
  const bool has_same_bits = GetParam() == prepare::AdapterUse::keep;
  EXPECT_EQ(said == expected, has_same_bits);
}

TEST_F(ServedCore, GeneratesAndScoresAsItsModelDoes) {
  const std::filesystem::path core = directory_ / "m.core";
  write_model_core(core, tiny_gguf(), tiny_gguf(), ir::Kind::f32);
  const std::string text = put("text", "The sun rises over the ice.").string();
  for (const std::string& rest : {std::string("--json --through prefill '" + text + "'"),
                                  std::string("--json --bos --through prefill '" + text + "'")}) {
    const std::string scored = "--threads 1 " + rest;
    const Outcome said = run("score '" + core.string() + "' --allow-unsigned " + scored);
    EXPECT_EQ(said.code, 0) << said.output;
    EXPECT_EQ(said.output, run("score '" + tiny_gguf().string() + "' " + scored).output);
  }
  const std::string asked = " --threads 1 --temperature 1 --seed 3 --max-tokens 20 ";
  for (const std::string prompt : {"--prompt 'The sun'", "--chat 'What is a parhelion?'"}) {
    // Standard error may tell of other kernels.
    const Outcome said =
        run("generate '" + core.string() + "' --allow-unsigned" + asked + prompt + " 2> /dev/null");
    EXPECT_EQ(said.code, 0);
    EXPECT_EQ(said.output, run("generate '" + tiny_gguf().string() + "'" + asked + prompt).output);
  }
}

TEST_F(ServedCore, TheCommandsTakeIt) {
  const std::string core = "'" + corpus_file("tiny.core").string() + "' --trust '" +
                           corpus_file("corpus.pub").string() + "' --threads 1 ";
  const Outcome chat = run_line("echo Hello | '" + std::string(PARHELION_BINARY) + "' chat " +
                                core + "--max-tokens 4 --seed 1");
  EXPECT_EQ(chat.code, 0) << chat.output;
  const Outcome raised = run("serve " + core + "--port 0 --max-rows 64");
  EXPECT_EQ(raised.code, 2) << raised.output;
  EXPECT_THAT(raised.output, HasSubstr("LIMIT_RAISED: --max-rows: is 64, expected at most 2"));
  const Outcome other = run("serve '" + put("x.core", "PARHCORE").string() + "' --port 0");
  EXPECT_EQ(other.code, 2) << other.output;
  EXPECT_THAT(other.output, HasSubstr("x.core: CORE_MAGIC"));
}

TEST_F(ServedCore, IsPreparedByTheCommand) {
  const std::string keys = (directory_ / "keys").string();
  const std::string core = (directory_ / "p.core").string();
  EXPECT_EQ(run("keys new '" + keys + "' --label k").code, 0);
  const Outcome prepared =
      run("prepare '" + tiny_gguf().string() + "' -o '" + core + "' --threads 1 --max-rows 2 " +
          "--step-tokens 32 --key '" + keys + "/k.key'");
  EXPECT_EQ(prepared.code, 0) << prepared.output;
  EXPECT_THAT(prepared.output, HasSubstr("weights from f32 to f32 by identity, values unchanged"));
  EXPECT_THAT(prepared.output, HasSubstr("p.core: "));
  ServingChoice choice = choice_of(core);
  choice.trust = {.keys = contract::read_trust_store(keys)};
  RunningServer server(choice);
  ServingChoice source = choice_of(tiny_gguf());
  RunningServer model(source);
  EXPECT_EQ(server.completion(1, true), model.completion(1, true));
  const Outcome many = run("prepare '" + tiny_gguf().string() + "' --plan-only --max-instances 3");
  EXPECT_EQ(many.code, 2);
  EXPECT_THAT(many.output, HasSubstr("instances, expected at most 3"));
  EXPECT_EQ(run("prepare '" + tiny_gguf().string() + "'").code, 2);
  const Outcome onto_itself =
      run("prepare '" + tiny_gguf().string() + "' -o '" + tiny_gguf().string() + "'");
  EXPECT_EQ(onto_itself.code, 2);
  EXPECT_THAT(onto_itself.output, HasSubstr("is no core, expected a new file or one to replace"));
  const Outcome onto_directory =
      run("prepare '" + tiny_gguf().string() + "' -o '" + directory_.string() + "'");
  EXPECT_THAT(onto_directory.output, HasSubstr("is a directory, expected a file to write"));
}

}  // namespace
}  // namespace parhelion::app
