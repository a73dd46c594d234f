// SPDX-License-Identifier: BSD-3-Clause
//
// The contract of all loaders, checked on each of them, and the special behaviour of single loaders.
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/data_loader/file_descriptor_data_loader.h>
#include <executorch/extension/data_loader/mman.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/data_loader/shared_ptr_data_loader.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <executorch/runtime/platform/runtime.h>

using executorch::extension::BufferDataLoader;
using executorch::extension::FileDataLoader;
using executorch::extension::FileDescriptorDataLoader;
using executorch::extension::MmapDataLoader;
using executorch::extension::SharedPtrDataLoader;
using executorch::runtime::DataLoader;
using executorch::runtime::Error;

namespace {

const DataLoader::SegmentInfo kProgram(DataLoader::SegmentInfo::Type::Program);

std::vector<uint8_t> make_content() {
  std::vector<uint8_t> content(12 * 4096 + 17);  // large enough to be mapped, and not a multiple of the page size
  for (size_t i = 0; i < content.size(); ++i) {
    content[i] = static_cast<uint8_t>(i * 7 + i / 256);
  }
  return content;
}

// Removes the files of this process when it ends.
struct Files {
  ~Files() {
    for (const std::string& path : paths) {
      std::remove(path.c_str());
    }
  }
  std::vector<std::string> paths;
};

// Writes a file whose name contains the process id, because ctest runs other cases at the same time.
std::string write_file(const std::vector<uint8_t>& content, const std::string& name = "content.bin") {
  static Files files;
  const std::string path = testing::TempDir() + std::to_string(::getpid()) + "_" + name;
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  files.paths.push_back(path);
  return path;
}

template <typename Loader>
std::unique_ptr<DataLoader> on_heap(executorch::runtime::Result<Loader> loader) {
  return loader.ok() ? std::make_unique<Loader>(std::move(loader.get())) : nullptr;
}

struct LoaderKind {
  const char* name;
  std::function<std::unique_ptr<DataLoader>(const std::vector<uint8_t>&)> make;
};

class DataLoaderTest : public testing::TestWithParam<LoaderKind> {
 protected:
  void SetUp() override {
    executorch::runtime::runtime_init();
    loader_ = GetParam().make(content_);
    ASSERT_NE(loader_, nullptr);
  }

  const std::vector<uint8_t> content_ = make_content();
  std::unique_ptr<DataLoader> loader_;
};

const LoaderKind kKinds[] = {
    {"Buffer", [](const auto& content) { return std::make_unique<BufferDataLoader>(content.data(), content.size()); }},
    {"SharedPtr",
     [](const auto& content) {
       auto copy = std::make_shared<std::vector<uint8_t>>(content);
       return std::make_unique<SharedPtrDataLoader>(std::shared_ptr<void>(copy, copy->data()), copy->size());
     }},
    {"File", [](const auto& content) { return on_heap(FileDataLoader::from(write_file(content).c_str(), 64)); }},
    {"FileDescriptor",
     [](const auto& content) {
       const int fd = ::open(write_file(content).c_str(), O_RDONLY);
       return on_heap(FileDescriptorDataLoader::fromFileDescriptorUri(("fd:///" + std::to_string(fd)).c_str()));
     }},
    {"Mmap",
     [](const auto& content) {
       return on_heap(MmapDataLoader::from(write_file(content).c_str(), MmapDataLoader::MlockConfig::NoMlock));
     }},
    {"MmapIgnoringMlockErrors",
     [](const auto& content) {
       return on_heap(
           MmapDataLoader::from(write_file(content).c_str(), MmapDataLoader::MlockConfig::UseMlockIgnoreErrors));
     }},
    {"MmapMadvise",
     [](const auto& content) {
       return on_heap(MmapDataLoader::from(write_file(content).c_str(), MmapDataLoader::MlockConfig::UseMadvise));
     }},
};

INSTANTIATE_TEST_SUITE_P(All, DataLoaderTest, testing::ValuesIn(kKinds),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace

// RTC-02, CPP-13
TEST_P(DataLoaderTest, LoadsRanges) {
  ASSERT_EQ(loader_->size().get(), content_.size());
  const size_t size = content_.size();
  for (const auto& [offset, length] : std::vector<std::pair<size_t, size_t>>{{0, size},
                                                                             {0, 1},
                                                                             {size - 1, 1},
                                                                             {100, 200},
                                                                             {4096, 4096},
                                                                             {4095, 2},
                                                                             {5000, size - 5000},
                                                                             {4097, 16384},
                                                                             {128, 16385}}) {
    const auto buffer = loader_->load(offset, length, kProgram);
    ASSERT_TRUE(buffer.ok());
    ASSERT_EQ(buffer->size(), length);
    EXPECT_EQ(std::memcmp(buffer->data(), content_.data() + offset, length), 0) << offset << "+" << length;

    std::vector<uint8_t> copy(length + 1, 0xee);
    ASSERT_EQ(loader_->load_into(offset, length, kProgram, copy.data()), Error::Ok);
    EXPECT_EQ(std::memcmp(copy.data(), content_.data() + offset, length), 0);
    EXPECT_EQ(copy[length], 0xee);
  }
}

TEST_P(DataLoaderTest, LoadsNothingAnywhereInside) {
  for (const size_t offset : {size_t{0}, size_t{4096}, content_.size()}) {
    const auto buffer = loader_->load(offset, 0, kProgram);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(buffer->size(), 0u);
    EXPECT_EQ(loader_->load_into(offset, 0, kProgram, nullptr), Error::Ok);
  }
}

TEST_P(DataLoaderTest, RefusesRangesOutside) {
  constexpr size_t kMax = std::numeric_limits<size_t>::max();
  const size_t size = content_.size();
  uint8_t byte = 0xee;
  for (const auto& [offset, length] : std::vector<std::pair<size_t, size_t>>{
           {0, size + 1}, {size, 1}, {size + 1, 0}, {1, size}, {kMax, 1}, {1, kMax}, {kMax, kMax}, {16, kMax - 15}}) {
    EXPECT_EQ(loader_->load(offset, length, kProgram).error(), Error::InvalidArgument) << offset << "+" << length;
    EXPECT_EQ(loader_->load_into(offset, length, kProgram, &byte), Error::InvalidArgument);
  }
  EXPECT_EQ(byte, 0xee);
}

TEST_P(DataLoaderTest, RefusesANullDestination) {
  EXPECT_EQ(loader_->load_into(0, 1, kProgram, nullptr), Error::InvalidArgument);
  EXPECT_EQ(loader_->load_into(4096, 100, kProgram, nullptr), Error::InvalidArgument);
  EXPECT_EQ(loader_->load_into(content_.size() + 1, 0, kProgram, nullptr), Error::InvalidArgument);
}

// A null pointer counts as empty memory, for every size.
TEST(MemoryLoaderTest, RefusesToReadANullPointer) {
  executorch::runtime::runtime_init();
  const BufferDataLoader buffer(nullptr, 10), empty(nullptr, 0);
  const SharedPtrDataLoader shared(nullptr, 10);
  for (const DataLoader* loader : {static_cast<const DataLoader*>(&buffer), static_cast<const DataLoader*>(&empty),
                                   static_cast<const DataLoader*>(&shared)}) {
    uint8_t byte = 0xee;
    EXPECT_EQ(loader->load(0, 1, kProgram).error(), Error::InvalidArgument);
    EXPECT_EQ(loader->load_into(0, 1, kProgram, &byte), Error::InvalidArgument);
    EXPECT_EQ(byte, 0xee);
    EXPECT_TRUE(loader->load(0, 0, kProgram).ok());
    EXPECT_EQ(loader->load(10, 0, kProgram).ok(), loader != &empty);
    EXPECT_EQ(loader->load_into(0, 0, kProgram, nullptr), Error::Ok);
  }
}

TEST_P(DataLoaderTest, BuffersOutliveNothingTheyNeed) {
  auto buffer = loader_->load(4096, 512, kProgram);
  ASSERT_TRUE(buffer.ok());
  if (std::string(GetParam().name) != "Buffer") {
    loader_.reset();
  }
  EXPECT_EQ(std::memcmp(buffer->data(), content_.data() + 4096, 512), 0);
  buffer->Free();
  EXPECT_EQ(buffer->size(), 0u);
}

namespace {

class FileLoadersTest : public testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }
};

}  // namespace

TEST_F(FileLoadersTest, SayWhatCannotBeOpened) {
  const std::string missing = testing::TempDir() + "no/such/file.pte";
  EXPECT_EQ(FileDataLoader::from(missing.c_str()).error(), Error::AccessFailed);
  EXPECT_EQ(MmapDataLoader::from(missing.c_str()).error(), Error::AccessFailed);
  EXPECT_EQ(FileDataLoader::from(testing::TempDir().c_str()).error(), Error::AccessFailed);
  EXPECT_EQ(MmapDataLoader::from(testing::TempDir().c_str()).error(), Error::AccessFailed);
  EXPECT_EQ(FileDataLoader::from(nullptr).error(), Error::InvalidArgument);
  EXPECT_EQ(MmapDataLoader::from(nullptr).error(), Error::InvalidArgument);
}

TEST_F(FileLoadersTest, TakeEmptyFiles) {
  const std::string path = write_file({}, "empty.bin");
  const auto file = FileDataLoader::from(path.c_str());
  const auto mapped = MmapDataLoader::from(path.c_str());
  ASSERT_TRUE(file.ok() && mapped.ok());
  EXPECT_EQ(file->size().get(), 0u);
  EXPECT_TRUE(file->load(0, 0, kProgram).ok());
  EXPECT_TRUE(mapped->load(0, 0, kProgram).ok());
  EXPECT_EQ(mapped->load(0, 1, kProgram).error(), Error::InvalidArgument);
}

TEST_F(FileLoadersTest, WhatLoadersOfApplicationsAskTheSystem) {
  EXPECT_EQ(get_os_page_size(), static_cast<size_t>(getpagesize()));
  const std::vector<uint8_t> content = make_content();
  const int fd = ::open(write_file(content).c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  size_t size = 0;
  EXPECT_EQ(get_file_stat(fd, &size), 0);
  EXPECT_EQ(size, content.size());
  void* const pages = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, get_mmap_offset(0));
  ASSERT_NE(pages, MAP_FAILED);
  fcntl_rdadvise_apple(fd, size);
  madvise_pages_willneed_sequential(pages, size);
  EXPECT_EQ(std::memcmp(pages, content.data(), size), 0) << "advice changes nothing";
  ::munmap(pages, size);
  ::close(fd);
  EXPECT_LT(get_file_stat(fd, &size), 0);
}

TEST_F(FileLoadersTest, FileSegmentsAreAligned) {
  const std::string path = write_file(make_content());
  for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    const auto loader = FileDataLoader::from(path.c_str(), alignment);
    ASSERT_TRUE(loader.ok());
    const auto buffer = loader->load(3, 100, kProgram);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % alignment, 0u);
  }
  EXPECT_EQ(FileDataLoader::from(path.c_str(), 0).error(), Error::InvalidArgument);
  EXPECT_EQ(FileDataLoader::from(path.c_str(), 48).error(), Error::InvalidArgument);
}

TEST_F(FileLoadersTest, MappedSegmentsHaveTheAlignmentOfTheirOffsets) {
  const auto loader = MmapDataLoader::from(write_file(make_content()).c_str(), MmapDataLoader::MlockConfig::NoMlock);
  ASSERT_TRUE(loader.ok());
  for (const size_t size : {size_t{100}, size_t{16384}, size_t{16385}}) {
    for (const size_t alignment : {size_t{1}, size_t{16}, size_t{128}, size_t{4096}}) {
      const auto buffer = loader->load(3 * alignment, size, kProgram);
      ASSERT_TRUE(buffer.ok());
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % alignment, 0u) << size;
    }
  }
}

TEST_F(FileLoadersTest, FilesThatShrinkAreAnError) {
  const std::string path = write_file(make_content(), "shrinks.bin");
  const auto loader = FileDataLoader::from(path.c_str());
  ASSERT_TRUE(loader.ok());
  ASSERT_EQ(::truncate(path.c_str(), 100), 0);
  EXPECT_EQ(loader->load(0, 200, kProgram).error(), Error::AccessFailed);
  EXPECT_TRUE(loader->load(0, 100, kProgram).ok());
}

TEST_F(FileLoadersTest, MovedFromLoadersRefuse) {
  const std::string path = write_file(make_content());
  auto file = FileDataLoader::from(path.c_str());
  auto mapped = MmapDataLoader::from(path.c_str(), MmapDataLoader::MlockConfig::NoMlock);
  const FileDataLoader new_file(std::move(file.get()));
  const MmapDataLoader new_mapped(std::move(mapped.get()));
  EXPECT_TRUE(new_file.load(0, 10, kProgram).ok());
  EXPECT_TRUE(new_mapped.load(0, 10, kProgram).ok());
  EXPECT_EQ(file->load(0, 10, kProgram).error(), Error::InvalidState);
  EXPECT_EQ(mapped->size().error(), Error::InvalidState);
}

TEST_F(FileLoadersTest, DescriptorUris) {
  for (const char* uri : {"", "fd:///", "fd:///x", "fd:///-1", "fd:///3x", "fd://3", "/tmp/x", "fd:///99999999999"}) {
    EXPECT_EQ(FileDescriptorDataLoader::fromFileDescriptorUri(uri).error(), Error::InvalidArgument) << uri;
  }
  EXPECT_EQ(FileDescriptorDataLoader::fromFileDescriptorUri(nullptr).error(), Error::InvalidArgument);
  EXPECT_EQ(FileDescriptorDataLoader::fromFileDescriptorUri("fd:///1000000").error(), Error::AccessFailed);
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const std::string pipe_uri = "fd:///" + std::to_string(pipe_ends[0]);
  EXPECT_EQ(FileDescriptorDataLoader::fromFileDescriptorUri(pipe_uri.c_str()).error(), Error::AccessFailed);
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

TEST_F(FileLoadersTest, AFifoWithoutAWriterIsRefusedAtOnce) {
  const std::string fifo = write_file({});
  ASSERT_EQ(::unlink(fifo.c_str()), 0);
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  ::alarm(60);  // opening one waits for a writer, and would wait for ever
  EXPECT_EQ(FileDataLoader::from(fifo.c_str()).error(), Error::AccessFailed);
  EXPECT_EQ(MmapDataLoader::from(fifo.c_str()).error(), Error::AccessFailed);
  ::alarm(0);
  ::unlink(fifo.c_str());  // other tests write a file of this name
}

TEST_F(FileLoadersTest, DescriptorLoaderClosesItsDescriptor) {
  const int fd = ::open(write_file(make_content()).c_str(), O_RDONLY);
  {
    const auto loader = FileDescriptorDataLoader::fromFileDescriptorUri(("fd:///" + std::to_string(fd)).c_str());
    ASSERT_TRUE(loader.ok());
    EXPECT_NE(::fcntl(fd, F_GETFD), -1);
  }
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
}
