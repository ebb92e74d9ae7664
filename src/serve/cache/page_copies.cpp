#include "serve/cache/page_copies.h"

#include "base/error.h"

namespace parhelion::serve {

PageCopies::PageCopies(std::int64_t pages, std::int64_t most)
    : uses_(static_cast<std::size_t>(pages)) {
  copies_.reserve(static_cast<std::size_t>(most));
  ends_.reserve(static_cast<std::size_t>(most));
}

void PageCopies::add(std::int32_t source, std::int32_t destination) {
  const auto pages = static_cast<std::int32_t>(uses_.size());
  ensure(source >= 0 && source < pages && destination > 0 && destination < pages &&
             source != destination,
         ErrorKind::bug, "page copies: page {} to {}, expected two of {}, and not to page 0",
         source, destination, pages);
  const bool is_hazard =
      use_of(source).written_in == batch_ || use_of(destination).read_in == batch_;
  if (is_hazard) ++batch_;
  use_of(source).read_in = batch_;
  Use& written = use_of(destination);
  if (written.written_in == batch_) {  // nothing has read what was to be there
    copies_[written.written_by].first = source;
    return;
  }
  written.written_in = batch_;
  written.written_by = copies_.size();
  if (is_hazard || ends_.empty()) ends_.push_back(copies_.size());
  copies_.emplace_back(source, destination);
  ends_.back() = copies_.size();
}

std::span<const PageCopies::Copy> PageCopies::batch(std::int64_t index) const {
  const auto at = static_cast<std::size_t>(index);
  const std::size_t begin = at == 0 ? 0 : ends_[at - 1];
  return std::span(copies_).subspan(begin, ends_[at] - begin);
}

void PageCopies::clear() {
  copies_.clear();
  ends_.clear();
  ++batch_;
}

}  // namespace parhelion::serve
