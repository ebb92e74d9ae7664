#include "app/cli/pending_stop.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

namespace parhelion::app {
namespace {

/// Ends as a program does that a signal reaches while it prepares.
void end_with(int signal) {
  {
    const PendingStop stop;
    ::raise(signal);
    if (!stop.has_come()) std::_Exit(3);
  }
  std::_Exit(4);
}

TEST(PendingStop, KeepsASignalUntilWhatIsHalfDoneIsTakenBack) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    EXPECT_EXIT(end_with(signal), testing::KilledBySignal(signal), "");
}

TEST(PendingStop, LeavesIgnoredSignalsIgnored) {
  const auto ignoring = [] {
    std::signal(SIGHUP, SIG_IGN);
    end_with(SIGHUP);
  };
  EXPECT_EXIT(ignoring(), testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace parhelion::app
