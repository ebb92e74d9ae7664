// Makes the corpus again: corpus_writer DIRECTORY. See tests/corpus/README.md.
#include "app/tiny_core.h"
#include "base/file.h"

#include <cstdio>
#include <exception>

namespace {

namespace contract = parhelion::contract;

void write_text(const std::filesystem::path& path, std::string_view text) {
  parhelion::AtomicFile file(path);
  file.write(text);
  file.commit();
}

void write_corpus(const std::filesystem::path& directory) {
  const std::filesystem::path model =
      std::filesystem::path(PARHELION_TEST_DATA) / "model" / "llama_tiny";
  const std::filesystem::path path = directory / "tiny.core";
  parhelion::app::write_model_core(path, model);
  const contract::Core core = contract::read_core(path, parhelion::app::corpus_trust());
  write_text(directory / "corpus.pub",
             fmt::format("parhelion-public-key ed25519 {} corpus\n",
                         contract::hex(contract::public_key(parhelion::app::kCorpusKey))));
  write_text(directory / "tiny.txt", contract::describe(core));
  write_text(directory / "tiny.tokens", parhelion::app::core_tokens(core));
}

}  // namespace

int main(int argument_count, char** arguments) try {
  if (argument_count != 2) {
    fmt::print(stderr, "usage: {} DIRECTORY\n", arguments[0]);
    return 2;
  }
  write_corpus(arguments[1]);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
