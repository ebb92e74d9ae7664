#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace parhelion::app {

/// How far a response of OpenAI's responses is.
enum class ResponseStatus : std::uint8_t {
  queued,
  in_progress,
  completed,
  incomplete,
  failed,
  cancelled
};

/// Whether nothing more will come.
inline bool is_over(ResponseStatus status) { return status > ResponseStatus::in_progress; }

/// A response that is kept, and what it was made from.
struct StoredResponse {
  std::string id = {};
  std::string owner = {};  ///< the label of the key that asked for it
  ResponseStatus status = ResponseStatus::queued;
  bool is_background = false;
  std::string input = {};                               ///< items of its request, a list of JSON
  std::string body = {};                                ///< as clients get it, an object of JSON
  std::shared_ptr<const StoredResponse> previous = {};  ///< that it goes on from

  /// Bytes without those of the responses before it.
  std::int64_t bytes() const;
};
using SharedResponse = std::shared_ptr<const StoredResponse>;

/// How much is kept.
struct StoreLimits {
  std::int64_t responses = 0;  ///< 0: none
  std::int64_t bytes = 64 << 20;
};

/// What a store has.
struct StoreCounts {
  std::int64_t responses = 0;
  std::int64_t bytes = 0;    ///< with those that only later responses hold
  std::int64_t evicted = 0;  ///< since the beginning, those without room counted
};

/// Keeps responses in memory. Where there is no room, the oldest go that are over; one that a later
/// response goes on from takes its bytes until that one goes too.
///
/// Threads: any. Responses may outlive the store.
class ResponseStore {
 public:
  explicit ResponseStore(const StoreLimits& limits) : limits_(limits) {}

  bool is_on() const { return limits_.responses > 0; }
  const StoreLimits& limits() const { return limits_; }
  /// The response of this id, or null if there is none or it is another key's.
  SharedResponse find(std::string_view id, std::string_view owner) const;
  /// Whether the conversation up to `response` could be kept beside nothing else.
  bool could_hold(const StoredResponse& response) const;
  /// Keeps a response whose id is new. False: there is no room beside those that are not over.
  bool add(StoredResponse response);
  /// Keeps a response in place of an earlier state, which is not over. False: there is none; or no
  /// room, then it is gone.
  bool replace(StoredResponse response);
  /// Forgets a response that is not over, if it is there.
  void abandon(std::string_view id);
  /// Forgets a response. False: it is not there, or not over.
  bool erase(std::string_view id, std::string_view owner);
  StoreCounts counts() const;

 private:
  struct Held;
  using Kept = std::map<std::uint64_t, SharedResponse>;
  using Numbers = std::map<std::string, std::uint64_t, std::less<>>;
  bool make_room(std::int64_t bytes, std::int64_t responses);
  void forget(Kept::iterator place);
  SharedResponse hold(StoredResponse response) const;
  Kept::iterator place_of(std::string_view id);

  const StoreLimits limits_;
  const std::shared_ptr<std::atomic<std::int64_t>> bytes_ =
      std::make_shared<std::atomic<std::int64_t>>(0);
  mutable std::mutex mutex_;
  Kept kept_;                       // by age, guarded by mutex_
  Numbers numbers_;                 // of ids, guarded by mutex_
  std::uint64_t next_number_ = 0;   // guarded by mutex_
  std::int64_t evicted_count_ = 0;  // guarded by mutex_
};

/// Tells the store what becomes of one response. In the background it is there from its first
/// state on, else once it is over.
///
/// Threads: one at a time.
class ResponseRecord {
 public:
  /// `response` has all but status and body. The store outlives the record.
  ResponseRecord(ResponseStore& store, StoredResponse response)
      : store_(store), response_(std::move(response)) {}
  /// What is not over is forgotten.
  ~ResponseRecord();
  ResponseRecord(const ResponseRecord&) = delete;
  ResponseRecord& operator=(const ResponseRecord&) = delete;

  bool is_background() const { return response_.is_background; }
  /// Errors: exhausted if the first state of one in the background finds no room.
  void update(ResponseStatus status, std::string body);

 private:
  ResponseStore& store_;
  StoredResponse response_;
  bool is_known_ = false;  // to the store
};

}  // namespace parhelion::app
