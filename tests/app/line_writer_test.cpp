#include "app/cli/line_writer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fcntl.h>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>

namespace parhelion::app {
namespace {

std::string tell(std::int64_t lines) { return fmt::format("dropped {}", lines); }

/// A writer into a pipe.
class LineWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);
    ASSERT_EQ(::pipe2(pipe_.data(), O_CLOEXEC), 0);
  }
  void TearDown() override {
    writer_.reset();
    for (int& end : pipe_) close_end(end);
  }
  static void close_end(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
  /// What is there to read; waits for the first byte.
  std::string read_some() {
    std::array<char, 4096> bytes{};
    const ssize_t count = ::read(pipe_[0], bytes.data(), bytes.size());
    return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
  }

  std::array<int, 2> pipe_{-1, -1};
  std::unique_ptr<LineWriter> writer_;
};

TEST_F(LineWriterTest, WritesLinesInTheirOrderBeforeItGoes) {
  writer_ = std::make_unique<LineWriter>(pipe_[1], tell);
  for (const char* line : {"a", "", "b"}) writer_->write(line);
  writer_.reset();
  EXPECT_EQ(read_some(), "a\n\nb\n");
}

TEST_F(LineWriterTest, DropsWhatASlowReaderHasNoRoomForAndSaysSo) {
  writer_ = std::make_unique<LineWriter>(pipe_[1], tell, 1 << 16);
  const std::string line(1000, 'x');
  constexpr int kLines = 400;  // the pipe and the writer hold 64 KiB each
  for (int i = 0; i < kLines; ++i) writer_->write(line);
  const std::int64_t dropped = writer_->dropped_lines();
  EXPECT_GT(dropped, 100);
  std::string text;
  while (text.find("\ndropped ") == std::string::npos) {
    writer_->write("y");
    text += read_some();
  }
}

TEST_F(LineWriterTest, GoesOnWithoutAReader) {
  writer_ = std::make_unique<LineWriter>(pipe_[1], tell);
  close_end(pipe_[0]);
  writer_->write("a");
  while (writer_->dropped_lines() < 1) std::this_thread::yield();
  writer_->write("b");
  writer_.reset();
}

}  // namespace
}  // namespace parhelion::app
