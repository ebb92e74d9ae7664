#include "app/http/submission.h"

#include <vector>

namespace parhelion::app {

void ActiveTickets::add(serve::Ticket ticket, const std::string& request_id) {
  const std::lock_guard lock(mutex_);
  ids_.emplace(ticket.number, request_id);
}

void ActiveTickets::remove(serve::Ticket ticket) {
  const std::lock_guard lock(mutex_);
  ids_.erase(ticket.number);
}

void ActiveTickets::cancel_all() {
  std::vector<std::uint64_t> numbers;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, id] : ids_) numbers.push_back(number);
  }
  for (const std::uint64_t number : numbers) server_.cancel({number});
}

std::int64_t ActiveTickets::cancel(std::string_view request_id) {
  std::vector<std::uint64_t> numbers;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, id] : ids_) {
      if (id == request_id) numbers.push_back(number);
    }
  }
  for (const std::uint64_t number : numbers) server_.cancel({number});
  return std::ssize(numbers);
}

std::int64_t ActiveTickets::count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(ids_.size());
}

}  // namespace parhelion::app
