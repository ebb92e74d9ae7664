#include "train/checkpoint/checkpoint_writer.h"

#include "base/error.h"
#include "base/log.h"
#include "train/checkpoint/checkpoint_directory.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <sys/mman.h>
#include <utility>

namespace parhelion::train {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t tensor_bytes(const CheckpointContent& content) {
  std::int64_t bytes = 0;
  for (const auto* tensors : {&content.parameters, &content.optimizer})
    for (const state::TensorView& tensor : *tensors) bytes += std::ssize(tensor.bytes);
  return bytes;
}

/// Memory of its own pages, which go back to the system as soon as this object ends. They are there
/// at once: that takes a quarter less time than one fault a page.
class PageBlock {
 public:
  /// Errors: exhausted if there is not so much memory.
  explicit PageBlock(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    if (bytes_ == 0) return;
    void* const data = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    ensure(data != MAP_FAILED, ErrorKind::exhausted, "snapshot: no {} bytes of memory", bytes_);
    data_ = static_cast<std::byte*>(data);
  }
  ~PageBlock() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }
  PageBlock(const PageBlock&) = delete;
  PageBlock& operator=(const PageBlock&) = delete;

  std::byte* data() { return data_; }

 private:
  std::size_t bytes_ = 0;
  std::byte* data_ = nullptr;
};

/// Copies every tensor into one block and lets the views show the copies.
std::unique_ptr<PageBlock> copy_tensors(CheckpointContent& content) {
  auto block = std::make_unique<PageBlock>(tensor_bytes(content));
  std::byte* next = block->data();
  for (auto* tensors : {&content.parameters, &content.optimizer}) {
    for (state::TensorView& tensor : *tensors) {
      std::byte* const begin = next;
      next = std::ranges::copy(tensor.bytes, begin).out;
      tensor.bytes = {begin, next};
    }
  }
  return block;
}

/// Runs a part of a save and takes its time; false, with a warning in the report, if it failed.
template <class Act>
bool attempt_part(SaveReport& report, std::chrono::nanoseconds& time, Act act) {
  const auto begin = Clock::now();
  const std::size_t warnings_before = report.warnings.size();
  try {
    act();
  } catch (const std::exception& error) {
    report.warnings.emplace_back(error.what());
  }
  time = Clock::now() - begin;
  return report.warnings.size() == warnings_before;
}

SaveReport save_checkpoint(const CheckpointStore& store, CheckpointContent content,
                           std::promise<void> copied) {
  SaveReport report{.step = content.facts.step};
  std::unique_ptr<PageBlock> block;
  const bool has_copy =
      attempt_part(report, report.snapshot, [&] { block = copy_tensors(content); });
  copied.set_value();
  if (!has_copy) return report;
  attempt_part(report, report.write, [&] {
    report.written = write_checkpoint(content, store);
    remove_old_checkpoints(store.directory, store.keep);
  });
  return report;
}

}  // namespace

CheckpointWriter::CheckpointWriter(CheckpointStore store) : store_(std::move(store)) {}

CheckpointWriter::~CheckpointWriter() {
  for (const SaveReport& report : close())
    for (const std::string& warning : report.warnings)
      log(LogLevel::warning, "checkpoint of step {}: {}", report.step, warning);
}

void CheckpointWriter::begin(CheckpointContent content) {
  const auto begin = Clock::now();
  end_save();
  std::promise<void> copied;
  std::future<void> was_copied = copied.get_future();
  std::future<SaveReport> report =
      std::async(std::launch::async, save_checkpoint, std::cref(store_), std::move(content),
                 std::move(copied));
  save_ = Save{std::move(was_copied), std::move(report), Clock::now() - begin};
}

void CheckpointWriter::wait_snapshot() {
  if (!save_) return;
  const auto begin = Clock::now();
  save_->copied.wait();
  save_->stall += Clock::now() - begin;
}

void CheckpointWriter::end_save() {
  if (!save_) return;
  SaveReport report = save_->report.get();
  report.stall = save_->stall;
  save_.reset();
  ended_.push_back(std::move(report));
}

std::vector<SaveReport> CheckpointWriter::poll() {
  using namespace std::chrono_literals;
  if (save_ && save_->report.wait_for(0s) == std::future_status::ready) end_save();
  return std::exchange(ended_, {});
}

std::vector<SaveReport> CheckpointWriter::close() {
  end_save();
  return std::exchange(ended_, {});
}

}  // namespace parhelion::train
