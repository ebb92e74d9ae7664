#include "app/http/response_store.h"

#include "base/error.h"

#include <algorithm>

namespace parhelion::app {
namespace {

constexpr std::int64_t kOverhead = 512;  // bytes of a response beside its texts, about

}  // namespace

/// A response that counts into its store's bytes as long as anybody has it.
struct ResponseStore::Held : StoredResponse {
  Held(StoredResponse response, std::shared_ptr<std::atomic<std::int64_t>> sum)
      : StoredResponse(std::move(response)), own_bytes(bytes()), used(std::move(sum)) {
    *used += own_bytes;
  }
  ~Held() { *used -= own_bytes; }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  std::int64_t own_bytes;
  std::shared_ptr<std::atomic<std::int64_t>> used;
};

std::int64_t StoredResponse::bytes() const {
  return kOverhead + std::ssize(id) + std::ssize(owner) + std::ssize(input) + std::ssize(body);
}

SharedResponse ResponseStore::hold(StoredResponse response) const {
  return std::make_shared<const Held>(std::move(response), bytes_);
}

SharedResponse ResponseStore::find(std::string_view id, std::string_view owner) const {
  const std::lock_guard lock(mutex_);
  const auto number = numbers_.find(id);
  if (number == numbers_.end()) return nullptr;
  const SharedResponse& found = kept_.at(number->second);
  return found->owner == owner ? found : nullptr;
}

bool ResponseStore::could_hold(const StoredResponse& response) const {
  std::int64_t bytes = response.bytes();
  for (const StoredResponse* each = response.previous.get(); each != nullptr;
       each = each->previous.get())
    bytes += each->bytes();
  return bytes <= limits_.bytes;
}

ResponseStore::Kept::iterator ResponseStore::place_of(std::string_view id) {
  const auto number = numbers_.find(id);
  return number == numbers_.end() ? kept_.end() : kept_.find(number->second);
}

void ResponseStore::forget(Kept::iterator place) {
  numbers_.erase(place->second->id);
  kept_.erase(place);
}

/// Forgets the oldest that are over, until so much fits.
bool ResponseStore::make_room(std::int64_t bytes, std::int64_t responses) {
  const auto has_room = [&] {
    return *bytes_ + bytes <= limits_.bytes && std::ssize(kept_) + responses <= limits_.responses;
  };
  for (auto each = kept_.begin(); !has_room() && each != kept_.end();) {
    const auto place = each++;
    if (!is_over(place->second->status)) continue;
    forget(place);
    ++evicted_count_;
  }
  return has_room();
}

bool ResponseStore::add(StoredResponse response) {
  const bool is_possible = could_hold(response);
  const std::lock_guard lock(mutex_);
  if (!is_possible || !make_room(response.bytes(), 1)) {
    ++evicted_count_;
    return false;
  }
  const std::uint64_t number = next_number_++;
  numbers_.emplace(response.id, number);
  kept_.emplace(number, hold(std::move(response)));
  return true;
}

bool ResponseStore::replace(StoredResponse response) {
  const bool is_possible = could_hold(response);
  const std::lock_guard lock(mutex_);
  const auto place = place_of(response.id);
  if (place == kept_.end() || is_over(place->second->status)) return false;
  const std::int64_t more = response.bytes() - place->second->bytes();
  if (!is_possible || !make_room(more, 0)) {
    forget(place);
    ++evicted_count_;
    return false;
  }
  place->second = hold(std::move(response));
  return true;
}

void ResponseStore::abandon(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto place = place_of(id);
  if (place != kept_.end() && !is_over(place->second->status)) forget(place);
}

bool ResponseStore::erase(std::string_view id, std::string_view owner) {
  const std::lock_guard lock(mutex_);
  const auto place = place_of(id);
  if (place == kept_.end() || place->second->owner != owner || !is_over(place->second->status))
    return false;
  forget(place);
  return true;
}

StoreCounts ResponseStore::counts() const {
  const std::lock_guard lock(mutex_);
  return {.responses = std::ssize(kept_), .bytes = *bytes_, .evicted = evicted_count_};
}

ResponseRecord::~ResponseRecord() {
  if (is_known_ && !is_over(response_.status)) store_.abandon(response_.id);
}

void ResponseRecord::update(ResponseStatus status, std::string body) {
  response_.status = status;
  if (!response_.is_background && !is_over(status)) return;
  StoredResponse state = response_;
  state.body = std::move(body);
  if (is_known_) {
    store_.replace(std::move(state));
    return;
  }
  is_known_ = store_.add(std::move(state));
  ensure(is_known_ || !response_.is_background, ErrorKind::exhausted,
         "stored responses: no room beside those that are at work");
}

}  // namespace parhelion::app
