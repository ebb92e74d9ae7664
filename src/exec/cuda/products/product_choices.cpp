#include "exec/cuda/products/product_choices.h"

#include "exec/cuda/libraries.h"
#include "exec/cuda/plan_files.h"
#include "exec/cuda/products/trial_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

namespace parhelion::exec::cuda {
namespace {

constexpr int kRanked = 24;
constexpr std::int64_t kDistinctRows = 64;
constexpr std::array<std::int64_t, 6> kTriedRows = {64, 1, 8, 256, 1024, 4096};
constexpr std::int64_t kMostTrialBytes = std::int64_t{1} << 30;

/// Products by a weight keep a row's bits at any number of rows.
bool has_any_rows(const ProductShape& shape) { return !shape.transpose_a && !shape.accumulate; }

ProductShape with_rows(ProductShape shape, std::int64_t rows) {
  shape.m = rows;
  return shape;
}

/// Numbers of rows at which algorithms are compared, the number of the expected rows first.
std::vector<std::int64_t> tried_rows(const ProductShape& shape) {
  if (!has_any_rows(shape)) return {shape.m};
  const std::int64_t row_bytes = shape.n * std::int64_t{sizeof(float)};
  std::vector<std::int64_t> result;
  for (const std::int64_t rows : kTriedRows) {
    if (rows <= kDistinctRows || rows * row_bytes <= kMostTrialBytes) result.push_back(rows);
  }
  return result;
}

/// What bits and speed depend on besides the shape.
std::string product_version(const Device& device) {
  return fmt::format("cublaslt{}.{}{}", cublasLtGetVersion(), device.name,
                     device.tf32 ? ".tf32" : "");
}

F32Products f32_products(const Device& device) {
  return device.tf32 ? F32Products::tf32 : F32Products::whole;
}

std::vector<LtAlgorithm> without_repeats(const std::vector<LtAlgorithm>& algorithms) {
  std::vector<LtAlgorithm> result;
  for (const LtAlgorithm& each : algorithms) {
    const auto is_same = [&](const LtAlgorithm& other) { return other.bytes == each.bytes; };
    if (std::ranges::none_of(result, is_same)) result.push_back(each);
  }
  return result;
}

/// One product at each number of rows.
class TriedProducts {
 public:
  TriedProducts(const ProductShape& shape, const Device& device)
      : rows_(tried_rows(shape)), trial_(with_rows(shape, std::ranges::max(rows_)), rows_.front()) {
    for (const std::int64_t rows : rows_) {
      products_.push_back(std::make_unique<LtMatmul>(device.libraries->cublas_lt(),
                                                     with_rows(shape, rows), f32_products(device)));
    }
  }

  /// The library's best, those of many rows first.
  std::vector<LtAlgorithm> ranked() const {
    std::vector<LtAlgorithm> result;
    for (auto product = products_.rbegin(); product != products_.rend(); ++product) {
      const std::vector<LtAlgorithm> some = (*product)->ranked(kRanked, Split::never);
      result.insert(result.end(), some.begin(), some.end());
    }
    return without_repeats(result);
  }

  void set_expected(LtAlgorithm algorithm) {
    if (products_.front()->accept(algorithm)) trial_.set_expected(*products_.front(), algorithm);
  }

  /// True if it takes every number of rows and each row has the bits expected.
  bool agrees(LtAlgorithm algorithm) {
    return std::ranges::all_of(products_, [&](const auto& product) {
      return product->accept(algorithm) && trial_.agrees(*product, algorithm);
    });
  }

 private:
  std::vector<std::int64_t> rows_;
  TrialProducts trial_;
  std::vector<std::unique_ptr<LtMatmul>> products_;
};

std::string to_text(const std::string& numerics, const std::vector<LtAlgorithm>& algorithms) {
  std::string text = numerics + "\n";
  for (const LtAlgorithm& each : algorithms) {
    for (const std::uint64_t word : each.bytes) text += fmt::format("{} ", word);
    text += fmt::format("{}\n", each.workspace_bytes);
  }
  return text;
}

}  // namespace

template <class Find>
const ProductChoices::Agreeing& ProductChoices::recall(const std::string& key, const Device& device,
                                                       const Find& find) {
  const auto known = found_.find(key);
  if (known != found_.end()) return known->second;
  const PlanFiles files(device.libraries->plan_cache());
  Agreeing result;
  if (const std::optional<std::string> text = files.find(key)) {
    std::istringstream in(*text);
    std::getline(in, result.numerics);
    LtAlgorithm each;
    const auto read = [&] {
      for (std::uint64_t& word : each.bytes) in >> word;
      return static_cast<bool>(in >> each.workspace_bytes);
    };
    while (read()) result.algorithms.push_back(each);
  } else {
    result = find();
    files.keep(key, to_text(result.numerics, result.algorithms));
  }
  return found_.emplace(key, std::move(result)).first->second;
}

ProductChoices::Agreeing ProductChoices::find_agreeing(const ProductShape& shape,
                                                       const Device& device) {
  TriedProducts tried(shape, device);
  const std::vector<LtAlgorithm> ranked = tried.ranked();
  const auto is_expected = [&](const LtAlgorithm& each) {
    tried.set_expected(each);
    return tried.agrees(each);
  };
  const auto first = std::ranges::find_if(ranked, is_expected);
  if (first == ranked.end()) return {};
  Agreeing result{.numerics = in_words(*first), .algorithms = {}};
  std::copy_if(first, ranked.end(), std::back_inserter(result.algorithms),
               [&](const LtAlgorithm& each) { return tried.agrees(each); });
  return result;
}

ProductChoices::Agreeing ProductChoices::find_fastest(const ProductShape& shape,
                                                      const Device& device) {
  const LtMatmul product(device.libraries->cublas_lt(), shape, f32_products(device));
  const bool is_fast = device.numerics == Numerics::fast;
  Agreeing among;
  if (is_fast) {
    among.algorithms = product.ranked(kRanked, Split::allowed);
  } else {
    const std::string key =
        fmt::format("{} agreeing {}", product_version(device),
                    in_words(shape, has_any_rows(shape) ? WithRows::no : WithRows::yes));
    among = recall(key, device, [&] { return find_agreeing(shape, device); });
  }
  TrialProducts trial(shape, std::min(shape.m, kDistinctRows));
  Agreeing result{.numerics = among.numerics, .algorithms = {}};
  double best = 0;
  for (LtAlgorithm each : among.algorithms) {
    if (!product.accept(each)) continue;
    const double time = trial.microseconds(product, each);
    if (!result.algorithms.empty() && time >= best) continue;
    best = time;
    result.algorithms = {each};
  }
  if (is_fast && !result.algorithms.empty()) result.numerics = in_words(result.algorithms.front());
  return result;
}

std::optional<ProductChoice> ProductChoices::choose(const ProductShape& shape,
                                                    const Device& device) {
  const bool is_fast = device.numerics == Numerics::fast;
  const std::string version = product_version(device);
  const std::string key = fmt::format("{} {} {}", version, is_fast ? "fastest" : "fastest agreeing",
                                      in_words(shape, WithRows::yes));
  const Agreeing& found = recall(key, device, [&] { return find_fastest(shape, device); });
  if (found.algorithms.empty()) return std::nullopt;
  LtAlgorithm algorithm = found.algorithms.front();
  const LtMatmul product(device.libraries->cublas_lt(), shape, f32_products(device));
  if (!product.accept(algorithm)) return std::nullopt;
  const bool any_rows = !is_fast && has_any_rows(shape);
  return ProductChoice{
      .numerics =
          fmt::format("{}.{}.{}", version, in_words(shape, any_rows ? WithRows::no : WithRows::yes),
                      found.numerics),
      .algorithm = algorithm};
}

}  // namespace parhelion::exec::cuda
