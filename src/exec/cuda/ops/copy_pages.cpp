#include "exec/cuda/kernels/copy_pages.h"

#include "exec/cuda/device_table.h"
#include "exec/cuda/ops/families.h"

#include <algorithm>
#include <set>

namespace parhelion::exec::cuda {
namespace {

/// Copies pages of several buffers in one launch; a buffer that comes again begins the next one,
/// since its copies stand behind those of before.
class CopyPagesKernel final : public Kernel {
 public:
  explicit CopyPagesKernel(std::span<const OpView> ops) {
    for (const OpView& op : ops) {
      buffers_.push_back({.lanes = op.input_dim(0, 0),
                          .page_count = op.input_dim(2, 0),
                          .page_bytes = ir::page_bytes(op.inputs[2])});
    }
  }

  void bind(const LaunchArgs& args) override {
    std::set<std::byte*> bound;
    std::vector<PageChunk> chunks;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      PageChunk chunk = buffers_[i];
      chunk.source = args.in<std::int32_t>(3 * i);
      chunk.destination = args.in<std::int32_t>(3 * i + 1);
      chunk.pages = args.outputs[i];
      if (!bound.insert(chunk.pages).second) {
        add_launch(chunks, args.stream);
        chunks.clear();
        bound = {chunk.pages};
      }
      for (; chunk.first < chunk.page_bytes; chunk.first += kPageChunk) {
        chunk.count = std::min(kPageChunk, chunk.page_bytes - chunk.first);
        chunks.push_back(chunk);
      }
    }
    add_launch(chunks, args.stream);
  }

  void launch(const LaunchArgs& args) override {
    for (const Launch& each : launches_) {
      copy_pages(reinterpret_cast<const PageChunk*>(each.table.data()), each.chunks, each.lanes,
                 args.gate, args.stream);
    }
  }

 private:
  struct Launch {
    DeviceMemory table;
    std::int64_t chunks = 0;
    std::int64_t lanes = 0;
  };

  void add_launch(const std::vector<PageChunk>& chunks, cudaStream_t stream) {
    if (chunks.empty()) return;
    const auto widest = std::ranges::max_element(chunks, {}, &PageChunk::lanes);
    launches_.push_back({.table = device_table<PageChunk>(chunks, stream),
                         .chunks = static_cast<std::int64_t>(chunks.size()),
                         .lanes = widest->lanes});
  }

  std::vector<PageChunk> buffers_;  // addresses missing
  std::vector<Launch> launches_;
};

std::unique_ptr<Kernel> plan_copies(std::span<const OpView> ops, const Device&) {
  return std::make_unique<CopyPagesKernel>(ops);
}

std::unique_ptr<Kernel> plan_copy(const OpView& op, const Device& device) {
  return plan_copies({&op, 1}, device);
}

}  // namespace

std::vector<Candidate> family_candidates(const ir::CopyPages&) {
  std::vector<Candidate> result = one_candidate("copy_pages", plan_copy);
  result[0].plan_group = plan_copies;
  result[0].gated = true;
  return result;
}

}  // namespace parhelion::exec::cuda
