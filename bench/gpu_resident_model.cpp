#include "gpu_resident_model.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace parhelion::bench {
namespace {

/// |a - b| / |b|, of vectors.
template <class Number>
double relative(const std::vector<Number>& a, const std::vector<double>& b) {
  double difference = 0.0;
  double norm = 0.0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double off = static_cast<double>(a[i]) - b[i];
    difference += off * off;
    norm += b[i] * b[i];
  }
  const double result = std::sqrt(difference / norm);
  return std::isfinite(result) ? result : 1e30;
}

float number_of(std::uint32_t high_bits) { return std::bit_cast<float>(high_bits); }

/// The two numbers in bf16 of each word.
std::vector<float> numbers_of(const std::vector<Word>& words) {
  std::vector<float> numbers;
  for (const Word word : words) {
    const auto bits = static_cast<std::uint32_t>(word);
    numbers.push_back(number_of(bits << 16));
    numbers.push_back(number_of(bits & 0xffff0000u));
  }
  return numbers;
}

std::vector<float> download_numbers(const Bf16* from, std::int64_t count) {
  std::vector<float> numbers;
  for (const std::uint16_t bits : download(reinterpret_cast<const std::uint16_t*>(from), count))
    numbers.push_back(number_of(std::uint32_t{bits} << 16));
  return numbers;
}

template <class T>
void upload(T* to, const std::vector<T>& from) {
  check(cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
}

/// cos, then sin, of each position, for a base of a million.
std::vector<float> rope_rows(int positions) {
  std::vector<float> rows(static_cast<std::size_t>(positions) * kColumns);
  constexpr int kHalf = kColumns / 2;
  for (int position = 0; position < positions; ++position) {
    float* row = rows.data() + std::int64_t{position} * kColumns;
    for (int c = 0; c < kHalf; ++c) {
      const double angle = position * std::pow(1e6, -2.0 * c / kColumns);
      row[c] = static_cast<float>(std::cos(angle));
      row[kHalf + c] = static_cast<float>(std::sin(angle));
    }
  }
  return rows;
}

}  // namespace

ResidentModel::ResidentModel(const DecoderShape& shape, int most_positions) {
  decoder_.shape = shape;
  decoder_.pages = most_positions / kPageTokens;
  ensure(shape.heads == 2 * kKeyHeads || shape.heads == 4 * kKeyHeads, ErrorKind::unsupported,
         "{} heads, expected 2 or 4 for each of {} key heads", shape.heads, kKeyHeads);
  for (const int rows : {shape.hidden, shape.qkv_rows(), shape.mlp})
    ensure(rows % (8 * kBlocks) == 0, ErrorKind::unsupported,
           "{} rows of weights, expected a multiple of {}", rows, 8 * kBlocks);
  make_parameters();
  make_cache(most_positions);
  make_exchanged();
  make_reference(most_positions);
  place_ = room<std::int32_t>(2);
  decoder_.token = place_;
  decoder_.position = place_ + 1;
  answer_ = room<std::int32_t>(1);
  logit_ = room<float>(1);
  marks_ = room<std::int64_t>(std::int64_t{shape.layers} * kMarks);
}

Bf16* ResidentModel::filled(std::int64_t count, float mean, float deviation) {
  Bf16* to = room<Bf16>(count);
  fill(to, count, {mean, deviation, seed_++});
  return to;
}

void ResidentModel::make_parameters() {
  const DecoderShape& shape = decoder_.shape;
  const std::int64_t layers = shape.layers;
  const std::int64_t hidden = shape.hidden;
  // Outputs near 1, those of many keys' means too.
  const auto weights = [&](std::int64_t rows, std::int64_t columns, float scale) {
    return filled(rows * columns, 0.0f, scale / std::sqrt(static_cast<float>(columns)));
  };
  decoder_.embedding = filled(shape.vocabulary * hidden, 0.0f, 1.0f);
  decoder_.head = weights(shape.vocabulary, hidden, 1.0f);
  decoder_.qkv = weights(layers * shape.qkv_rows(), hidden, 1.0f);
  decoder_.o = weights(layers * hidden, shape.attention_columns(), 8.0f);
  decoder_.gate_up = weights(layers * 2 * shape.mlp, hidden, 1.0f);
  decoder_.down = weights(layers * hidden, shape.mlp, 1.0f);
  decoder_.gains = filled(layers * shape.gains(), 1.0f, 0.1f);
  decoder_.last_gain = filled(hidden, 1.0f, 0.1f);
}

void ResidentModel::make_cache(int positions) {
  const std::int64_t count = decoder_.shape.layers * decoder_.cache_numbers();
  decoder_.keys = filled(count, 0.0f, 1.0f);
  decoder_.values = filled(count, 0.0f, 1.0f);
  std::vector<std::int32_t> table;
  for (int page = decoder_.pages - 1; page >= 0; --page) table.push_back(page);
  auto* pages = room<std::int32_t>(decoder_.pages);
  upload(pages, table);
  decoder_.table = pages;
  auto* turns = room<float>(std::int64_t{positions} * kColumns);
  upload(turns, rope_rows(positions));
  decoder_.turns = turns;
}

void ResidentModel::make_exchanged() {
  const DecoderShape& shape = decoder_.shape;
  const auto words = [&](std::int64_t count) {
    Word* to = room<Word>(count);
    told_.emplace_back(to, static_cast<std::size_t>(count) * sizeof(Word));
    return to;
  };
  exchanged_.x = words(shape.hidden / 2);
  exchanged_.qkv = words(shape.qkv_rows() / 2);
  exchanged_.parts = words(std::int64_t{shape.attention_columns()} * kSplits * 2);
  exchanged_.attended = words(shape.attention_columns() / 2);
  exchanged_.middle = words(shape.hidden / 2);
  exchanged_.activated = words(shape.mlp / 2);
  exchanged_.best = words(std::int64_t{2} * kBlocks);
  exchanged_.state = room<std::uint32_t>(3);
  told_.emplace_back(exchanged_.state, 3 * sizeof(std::uint32_t));
}

void ResidentModel::make_reference(int positions) {
  const DecoderShape& shape = decoder_.shape;
  reference_.x = room<double>(shape.hidden);
  reference_.qkv = room<double>(shape.qkv_rows());
  reference_.turned = room<double>(shape.qkv_rows());
  reference_.attended = room<double>(shape.attention_columns());
  reference_.middle = room<double>(shape.hidden);
  reference_.activated = room<double>(shape.mlp);
  reference_.logits = room<double>(shape.vocabulary);
  reference_.scratch = room<double>(std::int64_t{2} * (shape.mlp + shape.hidden));
  reference_.scores = room<double>(std::int64_t{shape.heads} * positions);
  reference_.positions = positions;
}

void ResidentModel::place(int token, int position) {
  position_ = position;
  upload(place_, {token, position});
}

StepArgs ResidentModel::args(const Choice& choice, int layers) const {
  StepArgs args;
  args.model = decoder_;
  args.model.shape.layers = layers;
  args.exchanged = exchanged_;
  args.exchange = choice.exchange;
  args.stages = choice.stages > 0 ? choice.stages : most_stages(decoder_.shape);
  args.ahead = choice.ahead;
  args.pause = choice.pause;
  args.answer = answer_;
  args.logit = logit_;
  return args;
}

void ResidentModel::forget_steps() const {
  for (const auto& [memory, bytes] : told_) check(cudaMemset(memory, 0, bytes), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void ResidentModel::refer(int layers) const {
  Decoder decoder = decoder_;
  decoder.shape.layers = layers;
  reference_step(decoder, reference_);
}

double ResidentModel::word_difference(const Word* words, const double* reference,
                                      std::int64_t count) const {
  return relative(numbers_of(download(words, count / 2)), download(reference, count));
}

/// The answer's logit and the largest one of the reference must be one: their distance, and that of
/// the kernel's number for it, in parts of the spread of logits.
double ResidentModel::answer_difference() const {
  const std::vector<double> logits = download(reference_.logits, decoder_.shape.vocabulary);
  const int answer = download(answer_, 1).front();
  const double logit = static_cast<double>(download(logit_, 1).front());
  if (answer < 0 || answer >= decoder_.shape.vocabulary) return 1e30;
  double squares = 0.0;
  for (const double each : logits) squares += each * each;
  const double spread = std::sqrt(squares / static_cast<double>(logits.size()));
  const double chosen = logits[static_cast<std::size_t>(answer)];
  const double away =
      std::max(*std::ranges::max_element(logits) - chosen, std::abs(logit - chosen));
  return std::isfinite(away) ? away / spread : 1e30;
}

std::vector<Difference> ResidentModel::differences(int layers, bool inner) const {
  const DecoderShape& shape = decoder_.shape;
  const std::int64_t page = decoder_.pages - 1 - position_ / kPageTokens;
  const std::int64_t row = (layers - 1) * decoder_.cache_numbers() +
                           (page * kPageTokens + position_ % kPageTokens) * kKeyHeads * kColumns;
  constexpr int kRow = kKeyHeads * kColumns;
  const double* key = reference_.turned + shape.attention_columns();
  std::vector<Difference> all = {
      {"x", word_difference(exchanged_.x, reference_.x, shape.hidden)},
      {"key", relative(download_numbers(decoder_.keys + row, kRow), download(key, kRow))},
      {"value",
       relative(download_numbers(decoder_.values + row, kRow), download(key + kRow, kRow))},
      {"answer", answer_difference()}};
  if (!inner) return all;
  const auto add = [&](const char* what, const Word* words, const double* reference, int count) {
    all.push_back({what, word_difference(words, reference, count)});
  };
  add("qkv", exchanged_.qkv, reference_.qkv, shape.qkv_rows());
  add("attended", exchanged_.attended, reference_.attended, shape.attention_columns());
  add("middle", exchanged_.middle, reference_.middle, shape.hidden);
  add("activated", exchanged_.activated, reference_.activated, shape.mlp);
  return all;
}

double ResidentModel::step_bytes(int position) const {
  const DecoderShape& shape = decoder_.shape;
  const double hidden = shape.hidden;
  const double layer = hidden * (shape.qkv_rows() + shape.attention_columns() + 3.0 * shape.mlp) +
                       2.0 * position * kKeyHeads * kColumns;
  return 2.0 * (shape.layers * layer + hidden * shape.vocabulary);
}

}  // namespace parhelion::bench
