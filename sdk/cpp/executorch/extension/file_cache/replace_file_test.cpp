// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/file_cache/replace_file.h>

#include <executorch/extension/file_cache/content_name.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <thread>
#endif

namespace fs = std::filesystem;

namespace executorch {
namespace extension {
namespace {

class ReplaceFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("replace_file_" + std::to_string(random_seed()[0]));
    fs::create_directory(folder_);
    path_ = (folder_ / "trace.etdp").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  static void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      found.push_back(entry.path().filename().string());
    }
    return found;
  }

  fs::path folder_;
  std::string path_;
};

TEST_F(ReplaceFile, WritesItsPartsOneAfterAnother) {
  const FilePart parts[] = {{"ab", 2}, {nullptr, 0}, {"cde", 3}};
  ASSERT_FALSE(replace_file(path_, {parts, 3}));
  EXPECT_EQ(content(path_), "abcde");
  ASSERT_FALSE(replace_file(path_, "f", 1));
  EXPECT_EQ(content(path_), "f");
  ASSERT_FALSE(replace_file(path_, nullptr, 0));
  EXPECT_EQ(content(path_), "");
  EXPECT_EQ(names(), std::vector<std::string>{"trace.etdp"});
}

TEST_F(ReplaceFile, SaysWhyAndLeavesNothing) {
  const std::error_code error = replace_file((folder_ / "no_folder" / "file").string(), "a", 1);
  EXPECT_EQ(error, std::errc::no_such_file_or_directory);
  fs::create_directory(path_);
  EXPECT_TRUE(replace_file(path_, "a", 1));  // a folder has that name
  EXPECT_EQ(names(), std::vector<std::string>{"trace.etdp"});
}

#if defined(__unix__) || defined(__APPLE__)

TEST_F(ReplaceFile, FollowsNoLinkUnderANameForUnfinishedFiles) {
  const fs::path victim = folder_ / "victim";
  write(victim, "precious");
  for (const char* const suffix : {".unfinished", ".partial", ".new"}) {
    fs::create_symlink(victim, path_ + suffix);
  }
  ASSERT_FALSE(replace_file(path_, "new", 3));
  EXPECT_EQ(content(victim), "precious");
  EXPECT_EQ(content(path_), "new");
  EXPECT_EQ(names().size(), 5u);
}

TEST_F(ReplaceFile, ReplacesTheFileThatTheUsersOwnLinkLeadsTo) {
  const fs::path storage = folder_ / "storage", link = folder_ / "link";
  fs::create_directory(storage);
  write(storage / "weights", "old");
  fs::create_symlink("storage/weights", link);
  fs::create_symlink(link, path_);
  ASSERT_FALSE(replace_file(path_, "new", 3));
  EXPECT_EQ(content(storage / "weights"), "new");
  EXPECT_FALSE(fs::is_symlink(storage / "weights"));
  EXPECT_TRUE(fs::is_symlink(path_) && fs::is_symlink(link));
  EXPECT_EQ(names().size(), 3u);
  EXPECT_EQ(std::distance(fs::directory_iterator(storage), fs::directory_iterator()), 1);
}

TEST_F(ReplaceFile, RefusesALinkThatLeadsNowhere) {
  fs::create_symlink(folder_ / "missing", path_);
  EXPECT_EQ(replace_file(path_, "new", 3), std::errc::no_such_file_or_directory);
  fs::remove(path_);
  fs::create_symlink(path_, path_);
  EXPECT_EQ(replace_file(path_, "new", 3), std::errc::too_many_symbolic_link_levels);
  EXPECT_EQ(names(), std::vector<std::string>{"trace.etdp"});
}

TEST_F(ReplaceFile, ReplacesTheLinkOfAnotherUser) {
  const fs::path victim = folder_ / "victim";
  write(victim, "precious");
  fs::create_symlink(victim, path_);
  if (::lchown(path_.c_str(), 65534, 65534) != 0) {
    GTEST_SKIP() << "only root can give a link to another user";
  }
  ASSERT_FALSE(replace_file(path_, "new", 3));
  EXPECT_EQ(content(victim), "precious");
  EXPECT_FALSE(fs::is_symlink(path_));
  EXPECT_EQ(content(path_), "new");
}

TEST_F(ReplaceFile, HasThePermissionsThatAreAskedFor) {
  const mode_t before = ::umask(022);
  struct stat status{};
  ASSERT_FALSE(replace_file(path_, "a", 1));
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
  ASSERT_FALSE(replace_file(path_, "a", 1, 0600));
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ::umask(before);
}

// A limit on the size of files fails as a full disk does: after some of the bytes.
TEST_F(ReplaceFile, KeepsTheOldFileIfTheNewOneDoesNotFit) {
  write(path_, "old");
  const std::vector<char> large(1 << 20);
  struct rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const struct rlimit small{1 << 16, limit.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::error_code error = replace_file(path_, large.data(), large.size());
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(error, std::errc::file_too_large) << error.message();
  EXPECT_EQ(content(path_), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"trace.etdp"});
}

TEST_F(ReplaceFile, WritesToAPipeInPlace) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const int reader = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  ASSERT_FALSE(replace_file(path_, "piped", 5));
  char bytes[8] = {};
  EXPECT_EQ(::read(reader, bytes, sizeof(bytes)), 5);
  EXPECT_STREQ(bytes, "piped");
  ::close(reader);
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_TRUE(S_ISFIFO(status.st_mode));
}

TEST_F(ReplaceFile, DoesNotWaitForThePipesReader) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(replace_file(path_, "piped", 5).value(), ENXIO);
}

TEST_F(ReplaceFile, WritesMoreThanAPipeHolds) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const int reader = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  size_t read = 0;
  std::thread reads([&] {
    ASSERT_EQ(::fcntl(reader, F_SETFL, 0), 0);
    char bytes[4096];
    for (ssize_t count = 1; count > 0; read += static_cast<size_t>(count)) {
      while ((count = ::read(reader, bytes, sizeof(bytes))) == 0 && read == 0) {
        std::this_thread::yield();  // the writer has not begun
      }
    }
  });
  const std::string data(1 << 20, 'x');
  EXPECT_FALSE(replace_file(path_, data.data(), data.size()));
  reads.join();
  ::close(reader);
  EXPECT_EQ(read, data.size());
}

TEST_F(ReplaceFile, WritesToAnOpenDescriptorInPlace) {
  const int descriptor = ::open(path_.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(descriptor, 0);
  ASSERT_FALSE(replace_file("/dev/fd/" + std::to_string(descriptor), "here", 4));
  ::close(descriptor);
  EXPECT_EQ(content(path_), "here");
}

#endif

}  // namespace
}  // namespace extension
}  // namespace executorch
