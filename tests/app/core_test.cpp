#include "app/command_support.h"
#include "app/model_test_support.h"
#include "app/tiny_core.h"

#include <gmock/gmock.h>

namespace parhelion::app {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::filesystem::path corpus(const std::string& name) {
  return std::filesystem::path(PARHELION_TEST_DATA).parent_path() / "corpus" / name;
}

std::string bash_word(const std::filesystem::path& path) { return "'" + path.string() + "'"; }

TEST(Corpus, CoresOfEarlierBuildsAreReadAndSayTheSame) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus(""))) {
    std::filesystem::path path = entry.path();
    if (path.extension() != ".core") continue;
    const contract::Core core =
        contract::read_core(path, {.keys = contract::read_trust_store(corpus("corpus.pub"))});
    EXPECT_EQ(contract::describe(core), read_file(path.replace_extension(".txt")));
    EXPECT_EQ(core_tokens(core), read_file(path.replace_extension(".tokens")));
    ++count;
  }
  EXPECT_GE(count, 1);
}

TEST(Corpus, ItsKeyIsTheOneThatIsTrusted) {
  EXPECT_EQ(contract::read_trust_store(corpus("corpus.pub")).at(0).key,
            contract::public_key(kCorpusKey));
}

class CoreFileTest : public ModelFilesTest {
 protected:
  std::filesystem::path core_ = directory_ / "m.core";
};

class CoreOfKind : public CoreFileTest, public testing::WithParamInterface<ir::Kind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, CoreOfKind, testing::Values(ir::Kind::f32, ir::Kind::bf16),
                         [](const auto& one) { return std::string(ir::name(one.param)); });

TEST_P(CoreOfKind, AModelSaysTheSameFromItsCore) {
  write_model_core(core_, tiny_directory(), tiny_directory(), GetParam());
  const contract::Core core = contract::read_core(core_, corpus_trust());
  const model::OpenedModel opened = model::open_model(tiny_directory());
  const contract::Contract plain = prepare::make_contract(
      opened.model,
      {.kind = GetParam(), .context_tokens = 96, .catalogue = {prepare::one_row(8, 8)}});
  const auto executor = exec::make_cpu_executor({.threads = 1});
  serve::Engine engine(plain, *executor, serve::EngineSettings{});
  upload_weights(opened, GetParam(), *executor);
  const auto from_core = exec::make_cpu_executor({.threads = 1});
  serve::Engine core_engine(core.contract, *from_core, serve::EngineSettings{});
  upload_weights(core.weights, *from_core);
  const std::vector<std::int32_t> ids = {5, 9, 12, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49};
  EXPECT_EQ(serve::score(core_engine, ids), serve::score(engine, ids));
}

TEST_F(CoreFileTest, InspectSaysWhatACoreHas) {
  const Outcome outcome = run("inspect core " + bash_word(corpus("tiny.core")) + " --trust " +
                              bash_word(corpus("corpus.pub")));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.output, read_file(corpus("tiny.txt")));
}

TEST_F(CoreFileTest, InspectRefusesWhatNobodyTrustedHasSigned) {
  const std::string path = corpus("tiny.core").string();
  const Outcome refused = run("inspect core " + bash_word(path));
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.output, "parhelion: " + path +
                                ": SIG_UNTRUSTED_KEY: is signed, but by none of 0 trusted keys\n");
  const Outcome allowed = run("inspect core --allow-unsigned " + bash_word(path));
  EXPECT_EQ(allowed.code, 0);
  EXPECT_THAT(allowed.output, HasSubstr("signature signed, but by no trusted key\n"));
}

TEST_F(CoreFileTest, InspectRefusesWhatIsBroken) {
  const std::filesystem::path cut =
      put("cut.core", std::string_view(read_file(corpus("tiny.core"))).substr(0, 5000));
  const Outcome outcome = run("inspect core --allow-unsigned " + bash_word(cut));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, StartsWith("parhelion: " + cut.string() + ": CORE_SECTION_RANGE: "));
}

TEST_F(CoreFileTest, KeysAreMadeAndSign) {
  const std::string keys = bash_word(directory_ / "keys");
  EXPECT_EQ(run("keys new " + keys + " --label release").code, 0);
  std::filesystem::copy(corpus("tiny.core"), core_);
  const std::string inspect = "inspect core " + bash_word(core_) + " --trust " + keys;
  EXPECT_EQ(run(inspect).code, 2);
  EXPECT_EQ(run("keys sign " + bash_word(core_) + " --key " + keys + "/release.key").code, 0);
  EXPECT_THAT(run(inspect).output, HasSubstr("signature signed by a trusted key (release)\n"));
  const Outcome again = run("keys new " + keys + " --label release");
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.output, HasSubstr("release.key: is there already"));
}

}  // namespace
}  // namespace parhelion::app
