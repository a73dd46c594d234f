// SPDX-License-Identifier: BSD-3-Clause
// Later processes use the file of packed weights. A damaged, truncated or foreign file costs time but never gives wrong
// weights.
#include "weights/weights_file_testing.h"

#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace executorch {
namespace backends {
namespace xnnpack {

namespace {

const PackedKey kFirst{7, {1, 2}, {3, 4}};
const PackedKey kSecond{7, {1, 2}, {}};

/// `size` bytes of a pattern that begins with `first`.
Bytes content(size_t size, uint8_t first) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<uint8_t>(first + i * i);
  }
  return bytes;
}

Bytes found(WeightsFile& file, const PackedKey& key) {
  const auto mapped = file.find(key);
  if (mapped == nullptr) {
    return {};
  }
  const auto* data = static_cast<const uint8_t*>(mapped->data);
  return {data, data + mapped->size};
}

TEST_F(PackedWeightsFile, AreThereOnTheNextStart) {
  const Bytes first = content(1000, 1), second = content(70001, 2);
  {
    const auto file = open();
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(file->find(kFirst), nullptr);
    const auto mapped = file->add(kFirst, first.data(), first.size());
    ASSERT_NE(mapped, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(mapped->data) % 128, 0u);
    ASSERT_NE(file->add(kSecond, second.data(), second.size()), nullptr);
    EXPECT_EQ(found(*file, kFirst), first);
  }
  for (const bool writes : {true, false}) {
    const auto file = open(writes);
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(found(*file, kFirst), first);
    EXPECT_EQ(found(*file, kSecond), second);
    EXPECT_EQ(file->find({8, {1, 2}, {3, 4}}), nullptr) << "packed in another way";
    EXPECT_EQ(file->find({7, {1, 3}, {3, 4}}), nullptr) << "another filter";
  }
  EXPECT_EQ(open(false)->add({9, {}, {}}, first.data(), first.size()), nullptr) << "opened for reading";
}

TEST_F(PackedWeightsFile, WhatTwoProcessesWriteIsThereOnce) {
  const Bytes first = content(500, 1), second = content(600, 2);
  const auto one = open();
  const auto other = open();
  ASSERT_NE(one->add(kFirst, first.data(), first.size()), nullptr);
  ASSERT_NE(other->add(kSecond, second.data(), second.size()), nullptr);
  const auto size = fs::file_size(path_);
  ASSERT_NE(other->add(kFirst, first.data(), first.size()), nullptr);
  EXPECT_EQ(fs::file_size(path_), size);
  const auto third = open();
  EXPECT_EQ(found(*third, kFirst), first);
  EXPECT_EQ(found(*third, kSecond), second);
}

TEST_F(PackedWeightsFile, CutAnywhereItIsUsedAsFarAsItGoes) {
  const Bytes first = content(200, 1), second = content(300, 2);
  {
    const auto file = open();
    ASSERT_NE(file->add(kFirst, first.data(), first.size()), nullptr);
    ASSERT_NE(file->add(kSecond, second.data(), second.size()), nullptr);
  }
  const Bytes whole = read();
  const size_t end_of_first = 128 + 128 + 256;
  for (size_t size = 0; size < whole.size(); size += size % 64 == 0 ? 1 : 63) {
    write(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
    const auto file = open();
    if (size > 0 && size < 128) {
      EXPECT_EQ(file, nullptr) << "too short to identify, " << size << " bytes";
      continue;
    }
    ASSERT_NE(file, nullptr) << size << " bytes";
    EXPECT_EQ(found(*file, kFirst), size >= end_of_first ? first : Bytes{}) << size << " bytes";
    EXPECT_EQ(file->find(kSecond), nullptr) << size << " bytes";
    ASSERT_NE(file->add(kSecond, second.data(), second.size()), nullptr) << size << " bytes";
    EXPECT_EQ(found(*open(), kSecond), second) << size << " bytes";
  }
}

TEST_F(PackedWeightsFile, DamagedAnywhereItGivesWhatWasPutInOrNothing) {
  const Bytes first = content(200, 1);
  ASSERT_NE(open()->add(kFirst, first.data(), first.size()), nullptr);
  const Bytes whole = read();
  size_t used = 0;
  for (size_t i = 8; i < whole.size(); ++i) {
    Bytes damaged = whole;
    damaged[i] ^= 0x10;
    write(damaged);
    const auto file = open();
    ASSERT_NE(file, nullptr) << "byte " << i;
    const Bytes bytes = found(*file, kFirst);
    EXPECT_TRUE(bytes.empty() || bytes == first) << "byte " << i;
    used += bytes.empty() ? 0 : 1;
    EXPECT_EQ(found(*open(false), kFirst), bytes) << "byte " << i;
  }
  // Nothing reads the padding after the two headers and after the content.
  EXPECT_EQ(used, (128u - 64u) + (128u - 80u) + (256u - 200u));
}

/// Changes a byte but not the modification time, as a failing disk would.
void damage_silently(const std::string& path, size_t at) {
  struct stat before{};
  ASSERT_EQ(stat(path.c_str(), &before), 0);
  {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at));
    file.put('\x5a');
  }
#if defined(__APPLE__)
  const timespec times[] = {{0, UTIME_OMIT}, before.st_mtimespec};
#else
  const timespec times[] = {{0, UTIME_OMIT}, before.st_mtim};
#endif
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

constexpr size_t kFirstContent = 256;  // after the headers of the file and of the first record

TEST_F(PackedWeightsFile, CommittedItIsNotReadAgain) {
  const Bytes first = content(1000, 1);
  {
    const auto file = open();
    ASSERT_NE(file->add(kFirst, first.data(), first.size()), nullptr);
    file->commit();
  }
  EXPECT_EQ(found(*open(), kFirst), first);
  damage_silently(path_, kFirstContent);
  EXPECT_EQ(found(*open(), kFirst).size(), first.size()) << "a committed file is not verified";
  // A write after the commit makes every open() verify the records again.
  const Bytes damaged = read();
  write(damaged);
  EXPECT_EQ(open()->find(kFirst), nullptr);
  EXPECT_EQ(open(false)->find(kFirst), nullptr);
}

TEST_F(PackedWeightsFile, IsOnlyCommittedWhenAllOfItIsWhole) {
  const Bytes first = content(1000, 1), second = content(2000, 2);
  {
    const auto file = open();
    ASSERT_NE(file->add(kFirst, first.data(), first.size()), nullptr);
    ASSERT_NE(file->add(kSecond, second.data(), second.size()), nullptr);
  }
  Bytes damaged = read();
  damaged[kFirstContent] ^= 1;
  write(damaged);
  {
    const auto file = open();
    EXPECT_EQ(file->find(kFirst), nullptr);
    EXPECT_EQ(found(*file, kSecond), second);
    file->commit();
  }
  EXPECT_EQ(open()->find(kFirst), nullptr) << "still damaged, although other weights were right";
  {
    const auto file = open();
    ASSERT_NE(file->add(kFirst, first.data(), first.size()), nullptr);
    file->commit();
  }
  EXPECT_EQ(found(*open(), kFirst), first);
  damage_silently(path_, read().size() - 1024);
  EXPECT_EQ(found(*open(), kFirst).size(), first.size()) << "the new one is committed";
}

TEST_F(PackedWeightsFile, WhatIsAddedAfterACommitEndsIt) {
  const Bytes first = content(1000, 1), second = content(2000, 2);
  {
    const auto file = open();
    ASSERT_NE(file->add(kFirst, first.data(), first.size()), nullptr);
    file->commit();
    // Another process adds a record and ends before it commits.
    ASSERT_NE(open()->add(kSecond, second.data(), second.size()), nullptr);
  }
  damage_silently(path_, kFirstContent);
  EXPECT_EQ(open()->find(kFirst), nullptr);
  EXPECT_EQ(found(*open(), kSecond), second);
}

TEST_F(PackedWeightsFile, FilesOfOthersStayAsTheyAre) {
  const Bytes theirs = content(4000, 9);
  write(theirs);
  EXPECT_EQ(open(), nullptr);
  EXPECT_EQ(read(), theirs);
  EXPECT_EQ(open_weights_file(folder_.string(), true), nullptr) << "a folder";
  EXPECT_EQ(open_weights_file((folder_ / "none" / "weights").string(), true), nullptr) << "a folder that is missing";
  EXPECT_EQ(open_weights_file((folder_ / "none").string(), false), nullptr);
  EXPECT_FALSE(fs::exists(folder_ / "none")) << "opening for reading creates no file";
}

TEST_F(PackedWeightsFile, IsOnlyOpenedWhereNobodyElseMayWriteIt) {
  const Bytes first = content(1000, 1);
  ASSERT_NE(open()->add(kFirst, first.data(), first.size()), nullptr);
  const Bytes whole = read();
  const auto expect_refused = [&](const std::string& path, const char* why) {
    for (const bool writes : {true, false}) {
      const std::string log = logged([&] { EXPECT_EQ(open_weights_file(path, writes), nullptr) << why; });
      EXPECT_NE(log.find(path), std::string::npos) << log;
      EXPECT_NE(log.find(why), std::string::npos) << log;
      EXPECT_NE(log.find("computed again on each start"), std::string::npos) << log;
    }
  };
  for (const mode_t mode : {0620, 0602, 0666}) {
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    expect_refused(path_, "chmod go-w");
  }
  ASSERT_EQ(chmod(path_.c_str(), 0644), 0);
  EXPECT_EQ(found(*open(), kFirst), first);

  const std::string link = (folder_ / "link").string(), dangling = (folder_ / "dangling").string();
  ASSERT_EQ(symlink(path_.c_str(), link.c_str()), 0);
  ASSERT_EQ(symlink((folder_ / "none").c_str(), dangling.c_str()), 0);
  expect_refused(link, "symbolic link");
  expect_refused(dangling, "symbolic link");
  EXPECT_TRUE(fs::is_symlink(link) && fs::is_symlink(dangling)) << "the links are not replaced";
  EXPECT_FALSE(fs::exists(folder_ / "none"));
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_refused(pipe, "regular file");
  EXPECT_EQ(read(), whole);

  if (geteuid() == 0) {  // only root may change the owner of a file
    ASSERT_EQ(chown(path_.c_str(), 12345, static_cast<gid_t>(-1)), 0);
    expect_refused(path_, "another user owns it");
    EXPECT_EQ(read(), whole);
  }
}

TEST_F(PackedWeightsFile, AFullDiskLeavesAFileThatCanBeUsed) {
  const Bytes first = content(1000, 1), large = content(100000, 2);
  const auto file = open();
  ASSERT_NE(file->add(kFirst, first.data(), first.size()), nullptr);
  // A limit on file sizes ends the write in the middle, as a full disk does.
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 50000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_EQ(file->add(kSecond, large.data(), large.size()), nullptr);
  EXPECT_FALSE(file->writes()) << "no further writes are tried";
  file->commit();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(found(*file, kFirst), first);
  const auto next = open();
  EXPECT_EQ(found(*next, kFirst), first);
  EXPECT_EQ(next->find(kSecond), nullptr);
  ASSERT_NE(next->add(kSecond, large.data(), large.size()), nullptr);
  EXPECT_EQ(found(*open(), kSecond), large);
}

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
