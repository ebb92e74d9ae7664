#include "train/data/load.h"

#include "base/error.h"
#include "base/log.h"
#include "train/data/rounds.h"
#include "train/data/token_writer.h"

#include <algorithm>
#include <optional>

namespace parhelion::train {
namespace {

Json id_or_null(std::optional<text::TokenId> id) { return id ? Json(std::int64_t{*id}) : Json(); }

/// All that decides about tokens.
std::string cache_key(const DataRequest& request, std::span<const SourceFile> sources,
                      const TokenRules& rules) {
  ensure(!rules.tokenizer_digest.empty(), ErrorKind::bug, "data: the tokenizer has no digest");
  Json::Array files;
  for (const SourceFile& source : sources) {
    files.push_back(Json::Object{{"text", source.format == DataFormat::text},
                                 {"hash", hex(hash128(source.file.bytes()))}});
  }
  const std::string parts = write_json(
      Json::Object{{"version", kTokenFileVersion},
                   {"tokenizer", rules.tokenizer_digest},
                   {"bos", id_or_null(rules.tokenizer.special_ids().bos)},
                   {"adds_bos", rules.tokenizer.adds_bos()},
                   {"eos", id_or_null(rules.eos)},
                   {"chat_template", rules.chat_template ? Json(*rules.chat_template) : Json()},
                   {"skips_broken", request.on_error == OnError::skip},
                   {"files", std::move(files)}});
  return hex(hash128(std::as_bytes(std::span(parts))));
}

/// The documents of an earlier run. A token file is only a copy, so one that is not sound is no
/// error.
std::optional<Documents> open_cached(const std::filesystem::path& path, const std::string& key,
                                     const TokenRules& rules, const DataRequest& request) try {
  if (!std::filesystem::exists(path)) return std::nullopt;
  return Documents(path, key, rules.vocabulary, request.files);
} catch (const Error& error) {
  if (error.kind() != ErrorKind::corrupt) throw;
  log(LogLevel::warning, "{}; it is made again", error.what());
  return std::nullopt;
}

/// Takes rows in order, writes their tokens and counts.
class DocumentCollector {
 public:
  DocumentCollector(const DataRequest& request, const TokenRules& rules, TokenWriter& writer)
      : request_(request), rules_(rules), writer_(writer) {}

  void add(const RawRow& raw, const RowOutcome& outcome) {
    if (outcome.error) std::rethrow_exception(outcome.error);
    if (!outcome.problem.empty()) return skip_broken(raw, outcome.problem);
    check_ids(raw, outcome.row);
    const std::int64_t learnt = count_learnt(outcome.row);
    if (learnt == 0) return skip_unlearnable(raw, outcome.row);
    writer_.add(raw.origin, outcome.row);
    ++report_.documents;
    report_.tokens += std::ssize(outcome.row.ids);
    report_.learnt_tokens += learnt;
  }

  const DataReport& report() const { return report_; }

 private:
  void skip_broken(const RawRow& raw, const std::string& problem) {
    ensure(request_.on_error == OnError::skip, ErrorKind::invalid, "{}: {}",
           describe(raw.origin, request_.files), problem);
    ++report_.broken;
    note_skipped(report_, {raw.origin, problem});
  }

  void skip_unlearnable(const RawRow& raw, const TokenisedRow& row) {
    ++report_.nothing_to_learn;
    note_skipped(report_,
                 {raw.origin, fmt::format("has {} tokens and nothing to learn", row.ids.size())});
  }

  // Even where broken rows are skipped: the tokenizer is wrong, not the row.
  void check_ids(const RawRow& raw, const TokenisedRow& row) const {
    for (const text::TokenId id : row.ids) {
      ensure(id >= 0 && id < rules_.vocabulary, ErrorKind::invalid,
             "{}: token id {} is outside the model's vocabulary of {}, expected the model's own "
             "tokenizer",
             describe(raw.origin, request_.files), id, rules_.vocabulary);
    }
  }

  /// The first token is learnt by none.
  static std::int64_t count_learnt(const TokenisedRow& row) {
    std::int64_t count = 0;
    for (const TokenRange& range : row.learnt) {
      count += std::max<std::int64_t>(range.end - std::max<std::int64_t>(range.begin, 1), 0);
    }
    return count;
  }

  const DataRequest& request_;
  const TokenRules& rules_;
  TokenWriter& writer_;
  DataReport report_;
};

void tokenise_sources(const DataRequest& request, std::span<const SourceFile> sources,
                      const TokenRules& rules, TokenWriter& writer) {
  DataProgress progress;
  std::vector<SourceText> texts;
  for (const SourceFile& source : sources) {
    texts.push_back(source.text());
    progress.total_bytes += std::ssize(texts.back().bytes);
  }
  DocumentCollector collector(request, rules, writer);
  RowRounds rounds(std::move(texts), rules, request.threads);
  while (rounds.next()) {
    for (std::size_t i = 0; i < rounds.rows().size(); ++i) {
      collector.add(rounds.rows()[i], rounds.outcomes()[i]);
      progress.bytes += std::ssize(rounds.rows()[i].bytes);
    }
    progress.documents = collector.report().documents;
    progress.tokens = collector.report().tokens;
    if (request.progress) request.progress(progress);
  }
  ensure(collector.report().documents > 0, ErrorKind::invalid,
         "data: no document has anything to learn; {}",
         describe(collector.report(), request.files));
  writer.finish(collector.report());
}

void make_directory(const std::filesystem::path& path) {
  std::error_code code;
  std::filesystem::create_directories(path, code);
  ensure(!code, ErrorKind::invalid, "{}: cannot make the directory: {}", path.string(),
         code.message());
}

}  // namespace

Documents load_documents(const DataRequest& request, const TokenRules& rules) {
  const std::vector<SourceFile> sources = open_sources(request.files, request.format);
  const std::string key = cache_key(request, sources, rules);
  const std::string name = key + ".tokens";
  if (auto cached = open_cached(request.cache / name, key, rules, request))
    return std::move(*cached);
  const auto& directory = request.scratch.empty() ? request.cache : request.scratch;
  const std::filesystem::path path = directory / name;
  make_directory(directory);
  TokenWriter writer(path, key, std::ssize(request.files));
  tokenise_sources(request, sources, rules, writer);
  return Documents(path, key, rules.vocabulary, request.files);
}

}  // namespace parhelion::train
