// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/devtools/etdump/data_sinks/buffer_data_sink.h>
#include <executorch/devtools/etdump/data_sinks/file_data_sink.h>
#include <executorch/devtools/etdump/etdump_filter.h>
#include <executorch/runtime/platform/runtime.h>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

using executorch::etdump::BufferDataSink;
using executorch::etdump::ETDumpFilter;
using executorch::etdump::FileDataSink;
using executorch::runtime::Error;

namespace {

class DataSinkTest : public testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }
};

}  // namespace

TEST_F(DataSinkTest, BuffersAlignWhatIsWritten) {
  alignas(64) uint8_t buffer[128] = {};
  auto sink = BufferDataSink::create(buffer, sizeof(buffer));
  ASSERT_TRUE(sink.ok());
  EXPECT_EQ(sink->get_storage_size().get(), 128u);
  EXPECT_EQ(sink->write("abc", 3).get(), 0u);
  EXPECT_EQ(sink->get_used_bytes(), 3u);
  EXPECT_EQ(sink->write("defg", 4).get(), 64u);
  EXPECT_EQ(std::memcmp(buffer + 64, "defg", 4), 0);
  EXPECT_EQ(sink->get_used_bytes(), 68u);
  EXPECT_EQ(sink->write("h", 1).error(), Error::OutOfResources);
  EXPECT_EQ(sink->get_used_bytes(), 68u);

  auto dense = BufferDataSink::create(executorch::runtime::Span<uint8_t>(buffer, 6), 1);
  EXPECT_EQ(dense->write("abc", 3).get(), 0u);
  EXPECT_EQ(dense->write("de", 2).get(), 3u);
  EXPECT_EQ(dense->write(nullptr, 0).get(), 5u);
  EXPECT_EQ(dense->write("fg", 2).error(), Error::OutOfResources);
  BufferDataSink moved = std::move(dense.get());
  EXPECT_EQ(moved.write("f", 1).get(), 5u);

  for (const size_t alignment : {0, 3, 48}) {
    EXPECT_EQ(BufferDataSink::create(buffer, sizeof(buffer), alignment).error(), Error::InvalidArgument);
  }
  EXPECT_EQ(BufferDataSink().write("a", 1).error(), Error::OutOfResources);
}

TEST_F(DataSinkTest, FilesHoldWhatIsWritten) {
  const std::string path = testing::TempDir() + "debug_data.bin";
  {
    auto sink = FileDataSink::create(path.c_str());
    ASSERT_TRUE(sink.ok());
    EXPECT_EQ(sink->write("abc", 3).get(), 0u);
    FileDataSink moved = std::move(sink.get());
    EXPECT_EQ(moved.write("de", 2).get(), 3u);
    EXPECT_EQ(moved.write(nullptr, 0).get(), 5u);
    EXPECT_EQ(moved.get_used_bytes(), 5u);
    moved.close();
    moved.close();
    EXPECT_EQ(moved.write("f", 1).error(), Error::AccessFailed);
  }
  std::ifstream file(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "abcde");
  std::remove(path.c_str());
  EXPECT_EQ(FileDataSink::create((testing::TempDir() + "no/such/folder").c_str()).error(), Error::AccessFailed);
  EXPECT_EQ(FileDataSink::create(nullptr).error(), Error::InvalidArgument);
}

#if defined(__unix__) || defined(__APPLE__)
TEST_F(DataSinkTest, FilesAreNeitherPipesNorFolders) {
  const std::string pipe = testing::TempDir() + "data_sink_" + std::to_string(getpid());
  std::remove(pipe.c_str());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(FileDataSink::create(pipe.c_str()).error(), Error::AccessFailed);  // does not wait for a reader
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_EQ(FileDataSink::create(pipe.c_str()).error(), Error::AccessFailed);
  close(reader);
  std::remove(pipe.c_str());
  EXPECT_EQ(FileDataSink::create(testing::TempDir().c_str()).error(), Error::AccessFailed);
  EXPECT_TRUE(FileDataSink::create("/dev/null").ok());
}
#endif

TEST_F(DataSinkTest, FiltersPassWhatTheyNameOrAllWithoutNames) {
  ETDumpFilter filter;
  EXPECT_TRUE(filter.filter("anything", -1).get());
  EXPECT_TRUE(filter.filter(nullptr, 12345).get());
  EXPECT_EQ(filter.filter("both", 1).error(), Error::InvalidArgument);
  EXPECT_EQ(filter.filter(nullptr, -1).error(), Error::InvalidArgument);
  ASSERT_TRUE(filter.add_regex("event.*").get());
  EXPECT_TRUE(filter.filter("event_name", -1).get());
  EXPECT_FALSE(filter.filter("an event", -1).get());
  ASSERT_TRUE(filter.add_regex("an event").get());
  EXPECT_TRUE(filter.filter("an event", -1).get());
  EXPECT_EQ(filter.add_regex("(").error(), Error::InvalidArgument);
  EXPECT_EQ(filter.get_n_regex(), 2u);
  ASSERT_TRUE(filter.set_debug_handle_range(10, 20).get());
  EXPECT_TRUE(filter.filter(nullptr, 10).get());
  EXPECT_TRUE(filter.filter(nullptr, 19).get());
  EXPECT_FALSE(filter.filter(nullptr, 20).get());
  EXPECT_FALSE(filter.filter(nullptr, 9).get());
  EXPECT_EQ(filter.set_debug_handle_range(20, 10).error(), Error::InvalidArgument);
  EXPECT_EQ(filter.set_debug_handle_range(5, 5).error(), Error::InvalidArgument);
}
