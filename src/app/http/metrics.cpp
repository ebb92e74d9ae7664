#include "app/http/metrics.h"

#include <fmt/format.h>

#include <cmath>

namespace parhelion::app {
namespace {

void write_type(std::string_view name, std::string_view type, std::string_view help,
                std::string& out) {
  out += fmt::format("# HELP parhelion_{} {}\n# TYPE parhelion_{} {}\n", name, help, name, type);
}

}  // namespace

double Histogram::bound(std::size_t index) const {
  constexpr std::array kSteps = {1.0, 2.5, 5.0};
  return least_ * kSteps[index % 3] * std::pow(10.0, static_cast<double>(index / 3));
}

void Histogram::observe(double value) {
  std::size_t index = 0;
  while (index < kBounds && value > bound(index)) ++index;
  ++counts_[index];
  double sum = sum_;
  while (!sum_.compare_exchange_weak(sum, sum + value)) {
  }
}

void Histogram::write(std::string_view name, std::string_view help, std::string& out) const {
  write_type(name, "histogram", help, out);
  std::int64_t count = 0;
  for (std::size_t i = 0; i < kBounds; ++i) {
    count += counts_[i];
    out += fmt::format("parhelion_{}_bucket{{le=\"{:g}\"}} {}\n", name, bound(i), count);
  }
  count += counts_[kBounds];
  out += fmt::format(
      "parhelion_{0}_bucket{{le=\"+Inf\"}} {1}\nparhelion_{0}_sum {2}\n"
      "parhelion_{0}_count {1}\n",
      name, count, sum_.load());
}

void LabelledCounter::add(const std::string& labels, std::int64_t count) {
  const std::lock_guard lock(mutex_);
  counts_[labels] += count;
}

void LabelledCounter::write(std::string_view name, std::string_view help, std::string& out) const {
  write_type(name, "counter", help, out);
  const std::lock_guard lock(mutex_);
  for (const auto& [labels, count] : counts_)
    out += fmt::format("parhelion_{}{{{}}} {}\n", name, labels, count);
}

void write_sample(std::string_view name, std::string_view type, std::string_view help, double value,
                  std::string& out) {
  write_type(name, type, help, out);
  out += fmt::format("parhelion_{} {}\n", name, value);
}

}  // namespace parhelion::app
