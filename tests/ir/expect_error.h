#pragma once

#include "base/error.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace parhelion {

/// Expects `act` to throw an `Error` of this kind with exactly this message.
inline void expect_error(ErrorKind kind, const std::string& message,
                         const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), message);
    EXPECT_EQ(name(error.kind()), name(kind));
    return;
  }
  ADD_FAILURE() << "no error, expected: " << message;
}

}  // namespace parhelion
