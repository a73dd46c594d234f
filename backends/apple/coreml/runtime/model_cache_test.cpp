// SPDX-License-Identifier: BSD-3-Clause
#include "model_cache.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <executorch/runtime/platform/runtime.h>
#include <gtest/gtest.h>

namespace executorch {
namespace backends {
namespace coreml {
namespace {

namespace fs = std::filesystem;
using runtime::Error;
using runtime::Result;

constexpr uint64_t kPlenty = 1 << 20;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

class ModelCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    runtime::runtime_init();
    std::string pattern = (fs::temp_directory_path() / "model_cache_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    folder_ = root_ / "cache";
  }
  void TearDown() override {
    std::error_code error;
    fs::remove_all(root_, error);
  }

  /// A payload with model.mlpackage/Data/weights.
  Folder model(const std::string& weights) {
    contents_.push_back(std::make_unique<std::string>(weights));
    const auto* const data = reinterpret_cast<const uint8_t*>(contents_.back()->data());
    return {{"model.mlpackage", "model.mlpackage/Data"}, {{"model.mlpackage/Data/weights", data, weights.size()}}};
  }

  /// Compiles to a copy next to the package.
  static Result<std::string> copy(const std::string& package) {
    const std::string made = package + ".compiled";
    fs::copy(package, made, fs::copy_options::recursive);
    return made;
  }

  std::unique_ptr<ModelCache> open(uint64_t limit = kPlenty) {
    Result<std::unique_ptr<ModelCache>> cache = ModelCache::open(folder_.string(), limit);
    EXPECT_TRUE(cache.ok());
    return std::move(*cache);
  }

  /// The number of entries in the cache, including hidden ones.
  size_t count() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }

  fs::path root_, folder_;
  std::vector<std::unique_ptr<std::string>> contents_;
};

TEST_F(ModelCacheTest, CompilesOnce) {
  const auto cache = open();
  EXPECT_EQ(cache->find("aa"), "");
  const auto made = cache->add("aa", model("weights"), "model.mlpackage", copy);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(*made, cache->find("aa"));
  EXPECT_EQ(read_file(fs::path(*made) / "Data/weights"), "weights");
  EXPECT_EQ(count(), 1u);  // nothing of the work is left
  EXPECT_EQ(open()->find("aa"), *made);
}

TEST_F(ModelCacheTest, MovesWhatWasCompiledOnAnotherFileSystem) {
  std::string other = "/dev/shm/model_cache_XXXXXX";
  if (::mkdtemp(other.data()) == nullptr) {
    GTEST_SKIP() << "a second file system";
  }
  const auto made =
      open()->add("aa", model("weights"), "model.mlpackage", [&](const std::string& package) -> Result<std::string> {
        fs::copy(package, other + "/compiled", fs::copy_options::recursive);
        fs::create_directories(other + "/compiled/empty/folder");
        write_text(other + "/compiled/empty/file", "");
        return other + "/compiled";
      });
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(read_file(fs::path(*made) / "Data/weights"), "weights");
  EXPECT_TRUE(fs::is_directory(fs::path(*made) / "empty/folder"));
  EXPECT_TRUE(fs::is_regular_file(fs::path(*made) / "empty/file"));
  EXPECT_FALSE(fs::exists(other + "/compiled"));
  fs::remove_all(other);
}

TEST_F(ModelCacheTest, ModelsThatCannotBeMovedAreRemoved) {
  const fs::path made = root_ / "compiled";
  const auto cache = open();
  const auto added = cache->add("aa", model("weights"), "model.mlpackage", [&](const std::string& package) {
    fs::copy(package, made, fs::copy_options::recursive);
    // A folder with files at the new place, which no folder can replace.
    const fs::path place = fs::path(package).parent_path().parent_path() / "entry/model.mlmodelc";
    fs::create_directories(place);
    write_text(place / "file", "");
    return Result<std::string>(made.string());
  });
  EXPECT_EQ(added.error(), Error::AccessFailed);
  EXPECT_FALSE(fs::exists(made));
  EXPECT_EQ(count(), 0u);
}

TEST_F(ModelCacheTest, WhatCannotBeCopiedIsAnErrorAndNoModel) {
  std::string other = "/dev/shm/model_cache_XXXXXX";
  if (::mkdtemp(other.data()) == nullptr) {
    GTEST_SKIP() << "a second file system";
  }
  const auto cache = open();
  const auto made =
      cache->add("aa", model("weights"), "model.mlpackage", [&](const std::string& package) -> Result<std::string> {
        fs::copy(package, other + "/compiled", fs::copy_options::recursive);
        fs::create_directory_symlink(other, other + "/compiled/link");
        return other + "/compiled";
      });
  EXPECT_EQ(made.error(), Error::AccessFailed);
  EXPECT_EQ(count(), 0u);
  fs::remove_all(other);
}

TEST_F(ModelCacheTest, TheFolderMayBeALink) {
  fs::create_directories(root_ / "real" / ".work-stale" / "entry");
  fs::last_write_time(root_ / "real" / ".work-stale", fs::file_time_type::clock::now() - std::chrono::hours(25));
  fs::create_directory_symlink(root_ / "real", folder_);
  const auto cache = open(1);
  EXPECT_EQ(count(), 0u);
  ASSERT_TRUE(cache->add("aa", model("first"), "model.mlpackage", copy).ok());
  ASSERT_TRUE(cache->add("bb", model("second"), "model.mlpackage", copy).ok());
  EXPECT_EQ(cache->find("aa"), "");
  EXPECT_EQ(count(), 1u);
}

TEST_F(ModelCacheTest, KeepsTheFirstOfTwo) {
  const auto cache = open();
  ASSERT_TRUE(cache->add("aa", model("first"), "model.mlpackage", copy).ok());
  const auto second = cache->add("aa", model("second"), "model.mlpackage", copy);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(read_file(fs::path(*second) / "Data/weights"), "first");
  EXPECT_EQ(count(), 1u);
}

TEST_F(ModelCacheTest, ThreadsAddTheSameModel) {
  const auto cache = open();
  const Folder payload = model("weights");
  std::vector<std::thread> threads;
  std::vector<std::string> found(4);
  for (std::string& path : found) {
    threads.emplace_back([&] { path = cache->add("aa", payload, "model.mlpackage", copy).get(); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::string& path : found) {
    EXPECT_EQ(path, cache->find("aa"));
  }
  EXPECT_EQ(count(), 1u);
}

TEST_F(ModelCacheTest, IgnoresAndReplacesWhatACrashLeft) {
  const auto cache = open();
  fs::create_directories(folder_ / "aa" / "model.mlmodelc");  // without the file that is written last
  fs::create_directories(folder_ / ".work-fresh" / "entry");
  fs::create_directories(folder_ / ".work-stale" / "entry");
  fs::last_write_time(folder_ / ".work-stale", fs::file_time_type::clock::now() - std::chrono::hours(25));
  EXPECT_EQ(cache->find("aa"), "");
  const auto made = cache->add("aa", model("weights"), "model.mlpackage", copy);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(read_file(fs::path(*made) / "Data/weights"), "weights");
  open();
  EXPECT_TRUE(fs::exists(folder_ / ".work-fresh"));
  EXPECT_FALSE(fs::exists(folder_ / ".work-stale"));
}

TEST_F(ModelCacheTest, RemovesTheModelThatWasNotUsedForLongest) {
  const auto cache = open(250);
  ASSERT_TRUE(cache->add("aa", model(std::string(100, 'a')), "model.mlpackage", copy).ok());
  ASSERT_TRUE(cache->add("bb", model(std::string(100, 'b')), "model.mlpackage", copy).ok());
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(folder_ / "aa" / "size", now - std::chrono::seconds(20));
  fs::last_write_time(folder_ / "bb" / "size", now - std::chrono::seconds(10));
  EXPECT_NE(cache->find("aa"), "");  // used again
  ASSERT_TRUE(cache->add("cc", model(std::string(100, 'c')), "model.mlpackage", copy).ok());
  EXPECT_NE(cache->find("aa"), "");
  EXPECT_EQ(cache->find("bb"), "");
  ASSERT_TRUE(cache->add("dd", model(std::string(1000, 'd')), "model.mlpackage", copy).ok());
  EXPECT_NE(cache->find("dd"), "");  // the last one stays, however large
  EXPECT_EQ(count(), 1u);
}

TEST_F(ModelCacheTest, FailuresLeaveNothing) {
  const auto cache = open();
  const auto failed =
      cache->add("aa", model("weights"), "model.mlpackage",
                 [](const std::string&) -> Result<std::string> { return Error::DelegateInvalidCompatibility; });
  EXPECT_EQ(failed.error(), Error::DelegateInvalidCompatibility);
  const auto lost = cache->add("aa", model("weights"), "model.mlpackage",
                               [](const std::string& path) -> Result<std::string> { return path + ".none"; });
  EXPECT_EQ(lost.error(), Error::AccessFailed);
  EXPECT_EQ(count(), 0u);
  for (const char* key : {"", "..", "a/b", "AA", "xyz"}) {
    EXPECT_EQ(cache->add(key, model("weights"), "model.mlpackage", copy).error(), Error::InvalidArgument) << key;
    EXPECT_EQ(cache->find(key), "");
    cache->remove(key);
  }
  EXPECT_EQ(count(), 0u);
}

TEST_F(ModelCacheTest, AFullDiskIsAnError) {
  const auto cache = open();
  ASSERT_TRUE(cache->add("aa", model("weights"), "model.mlpackage", copy).ok());
  // A limit of the size of files fails as a full disk does, for root too.
  struct rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit little{50, before.rlim_max};
  const auto old_action = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  const auto made = cache->add("bb", model(std::string(100, 'b')), "model.mlpackage", copy);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_action);
  EXPECT_EQ(made.error(), Error::AccessFailed);
  EXPECT_NE(cache->find("aa"), "");
  EXPECT_EQ(count(), 1u);
}

TEST_F(ModelCacheTest, AFileInThePlaceOfTheFolderIsAnError) {
  write_text(folder_, "no folder");
  EXPECT_EQ(ModelCache::open(folder_.string(), kPlenty).error(), Error::AccessFailed);
  EXPECT_EQ(ModelCache::open((folder_ / "inner").string(), kPlenty).error(), Error::AccessFailed);
  EXPECT_EQ(read_file(folder_), "no folder");
}

TEST_F(ModelCacheTest, KeysNameContentAndSystem) {
  EXPECT_EQ(cache_key("abc", 3, "iOS 18").size(), 64u);
  EXPECT_EQ(cache_key("abc", 3, "iOS 18"), cache_key("abc", 3, "iOS 18"));
  EXPECT_NE(cache_key("abc", 3, "iOS 18"), cache_key("abd", 3, "iOS 18"));
  EXPECT_NE(cache_key("abc", 3, "iOS 18"), cache_key("abc", 3, "iOS 19"));
}

}  // namespace
}  // namespace coreml
}  // namespace backends
}  // namespace executorch
