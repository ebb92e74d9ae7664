#include "app/cli/command.h"
#include "app/model_files.h"
#include "app/tokenizer_files.h"
#include "base/error.h"
#include "base/json.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace parhelion::app {
namespace {

struct TokenizeOptions {
  std::filesystem::path model;
  std::filesystem::path file;
  bool decode = false;
  bool plain = false;
  bool bos = false;
  bool json = false;
};

Json ids_as_json(const std::vector<std::int32_t>& ids) {
  Json::Array array;
  for (const std::int32_t id : ids) array.emplace_back(std::int64_t{id});
  return array;
}

void run_tokenize(const TokenizeOptions& options) {
  const text::Tokenizer tokenizer = load_tokenizer(options.model);
  const std::string input = read_text(options.file);
  if (options.decode) {
    const std::string text = tokenizer.decode(
        parse_ids(input, options.file.empty() ? "standard input" : options.file.string()));
    print(options.json ? write_json(Json::Object{{"text", text}}) + "\n" : text);
    return;
  }
  const auto ids = tokenizer.encode(
      input, {.special_text = options.plain ? text::SpecialText::plain : text::SpecialText::parse,
              .frame = options.bos ? text::Frame::bos : text::Frame::none});
  print(options.json ? write_json(Json::Object{{"ids", ids_as_json(ids)}}) + "\n"
                     : fmt::format("{}\n", fmt::join(ids, " ")));
}

}  // namespace

void add_tokenize(CLI::App& app) {
  auto options = std::make_shared<TokenizeOptions>();
  CLI::App* command = app.add_subcommand("tokenize", "Turn text into token ids, or ids into text");
  command->add_option("MODEL", options->model, kModelHelp)->required();
  command->add_option("FILE", options->file, "what to read; standard input if absent or -");
  command->add_flag("--decode", options->decode,
                    "read ids separated by white space, write their text");
  command->add_flag("--plain", options->plain,
                    "special tokens written in the text are ordinary text");
  command->add_flag("--bos", options->bos, "put the model's BOS first");
  command->add_flag("--json", options->json, "write one JSON object");
  command->callback([options] {
    options->model = resolve_model(options->model);
    run_tokenize(*options);
  });
}

}  // namespace parhelion::app
