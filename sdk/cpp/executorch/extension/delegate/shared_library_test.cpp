// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/delegate/shared_library.h>
#include <executorch/runtime/platform/runtime.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#ifndef _WIN32
#include <dlfcn.h>

#include "paths.h"
#endif

namespace executorch::extension::delegate {

using executorch::tests::kLibrary;
using runtime::Error;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace {

namespace fs = std::filesystem;

constexpr char kVariable[] = "EXECUTORCH_TEST_STAND_IN";

class SharedLibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override {
    unsetenv(kVariable);
    fs::remove_all(folder_);
  }

  SharedLibrary open(std::vector<std::string> names) { return SharedLibrary::open(search(std::move(names)), symbols_); }

  static LibrarySearch search(std::vector<std::string> names) {
    return {"The stand-in", std::move(names), kVariable, "install the stand-in"};
  }

  /// A copy of the stand-in under another name, in a separate folder.
  std::string copy(const std::string& name) const {
    fs::copy_file(kLibrary, folder_ / name);
    return (folder_ / name).string();
  }

  /// A file that is not a library.
  std::string text_file(const std::string& name) const {
    std::ofstream(folder_ / name) << "this is text";
    return (folder_ / name).string();
  }

  // A folder for each test: ctest runs several at once.
  const fs::path folder_ =
      fs::path(testing::TempDir()) /
      (std::string("shared_library_") + testing::UnitTest::GetInstance()->current_test_info()->name());
  int (*sum_)(int, int) = nullptr;
  const char* (*version_)() = nullptr;
  void (*other_)() = nullptr;
  std::vector<Symbol> symbols_ = {{"stand_in_sum", &sum_}, {"stand_in_version", &version_}};
};

TEST_F(SharedLibraryTest, SetsThePointersOfItsSymbols) {
  const SharedLibrary library = open({kLibrary});
  ASSERT_EQ(library.error(), Error::Ok) << library.problem();
  EXPECT_EQ(library.problem(), "");
  EXPECT_EQ(sum_(2, 40), 42);
  EXPECT_STREQ(version_(), "1.2");
}

TEST_F(SharedLibraryTest, TakesTheFirstNameThatCanBeOpened) {
  const std::string text = text_file("libtext.so");
  EXPECT_EQ(open({"libnot_on_this_machine.so", text, kLibrary}).error(), Error::Ok);
  EXPECT_NE(sum_, nullptr);
}

TEST_F(SharedLibraryTest, AMissingLibraryIsOneLineWithAllNamesAndTheRemedy) {
  const SharedLibrary library = open({"libfirst_missing.so", "/nowhere/libsecond_missing.so"});
  EXPECT_EQ(library.error(), Error::NotFound);
  EXPECT_THAT(library.problem(), AllOf(HasSubstr("The stand-in cannot be loaded: tried libfirst_missing.so ("),
                                       HasSubstr(", /nowhere/libsecond_missing.so ("),
                                       HasSubstr("; install the stand-in"), Not(HasSubstr("\n"))));
  EXPECT_EQ(sum_, nullptr);
}

TEST_F(SharedLibraryTest, AFileThatIsNoLibraryIsNamedWithTheLoadersReason) {
  const std::string text = text_file("libtext.so");
  const SharedLibrary library = open({text});
  EXPECT_EQ(library.error(), Error::NotFound);
  const std::string before = "tried " + text + " (";
  ASSERT_THAT(library.problem(), HasSubstr(before));
  // The message contains a reason, which does not repeat the name.
  const std::string reason = library.problem().substr(library.problem().find(before) + before.size());
  EXPECT_THAT(reason, AllOf(Not(testing::StartsWith(text)), Not(testing::StartsWith(")"))));
}

TEST_F(SharedLibraryTest, AMissingSymbolIsNamedAndNoPointerIsSet) {
  symbols_.emplace_back("stand_in_other", &other_);
  const SharedLibrary library = open({kLibrary});
  EXPECT_EQ(library.error(), Error::NotSupported);
  EXPECT_THAT(library.problem(), HasSubstr(std::string(kLibrary) + " (it lacks stand_in_other); install"));
  EXPECT_EQ(sum_, nullptr);
  EXPECT_EQ(version_, nullptr);
}

TEST_F(SharedLibraryTest, OfManyMissingSymbolsTheRestIsCounted) {
  for (const char* name : {"a1", "a2", "a3", "a4", "a5", "a6"}) {
    symbols_.emplace_back(name, &other_);
  }
  EXPECT_THAT(open({kLibrary}).problem(), HasSubstr("(it lacks a1, a2, a3, a4 and 2 more functions)"));
}

TEST_F(SharedLibraryTest, AnotherLibraryDoesNotHideTheRightOne) {
  // This machine's C library has none of the symbols.
  symbols_.emplace_back("stand_in_sum", &other_);
  const SharedLibrary library = open({"libc.so.6", kLibrary});
  ASSERT_EQ(library.error(), Error::Ok) << library.problem();
  EXPECT_EQ(reinterpret_cast<int (*)(int, int)>(other_)(1, 2), 3);
}

TEST_F(SharedLibraryTest, TheVariableNamesTheOnlyFileThatIsTried) {
  setenv(kVariable, "/nowhere/libof_variable.so", 1);
  const SharedLibrary missing = open({kLibrary});
  EXPECT_EQ(missing.error(), Error::NotFound);
  EXPECT_THAT(missing.problem(), AllOf(HasSubstr("tried /nowhere/libof_variable.so ("), Not(HasSubstr(kLibrary))));
  setenv(kVariable, kLibrary, 1);
  EXPECT_EQ(open({"libnot_on_this_machine.so"}).error(), Error::Ok);
  setenv(kVariable, "", 1);  // an empty variable counts as not set
  EXPECT_EQ(open({kLibrary}).error(), Error::Ok);
}

TEST_F(SharedLibraryTest, InTheFolderOfTheVariableTheHighestVersionIsTaken) {
  setenv(kVariable, folder_.string().c_str(), 1);
  const SharedLibrary none = open({"libstand_in.so"});
  EXPECT_EQ(none.error(), Error::NotFound);
  EXPECT_THAT(none.problem(), HasSubstr("tried " + folder_.string() + " (it has no libstand_in.so); install"));
  text_file("libstand_in.so");
  text_file("libstand_in.so.9.1");
  copy("libstand_in.so.10");
  copy("libstand_in_other.so.11");
  EXPECT_EQ(open({"libstand_in.so"}).error(), Error::Ok);
  text_file("libstand_in.so.10.2");
  EXPECT_THAT(open({"libstand_in.so"}).problem(), HasSubstr("libstand_in.so.10.2 ("));
}

// A static library, a text or a file that somebody saved under another name is no version of the library.
TEST_F(SharedLibraryTest, InTheFolderOfTheVariableOtherFilesAreNotTaken) {
  setenv(kVariable, folder_.string().c_str(), 1);
  for (const char* const name : {"libstand_in.a", "libstand_in.txt", "libstand_in.2.txt", "libstand_in.so.old",
                                 "libstand_in.so.99.debug", "libstand_in.99.a", "libstand_in.cpython-313.so"}) {
    text_file(name);
  }
  EXPECT_EQ(open({"libstand_in.so"}).error(), Error::NotFound);
  copy("libstand_in.2.so");
  EXPECT_EQ(open({"libstand_in.so"}).error(), Error::Ok) << open({"libstand_in.so"}).problem();
}

struct StandIn {
  int (*sum)(int, int) = nullptr;
  std::string version;
};

LibrarySearch stand_in_search() {
  return {"The stand-in", {"libnot_on_this_machine.so"}, kVariable, "install the stand-in"};
}

std::vector<Symbol> stand_in_symbols(StandIn& to) {
  return {{"stand_in_sum", &to.sum}};
}

std::string refused;  ///< what check_stand_in() returns

std::string check_stand_in(StandIn& library) {
  library.version = "1.2";
  return refused;
}

TEST_F(SharedLibraryTest, FunctionsAreLoadedOnceAndFailuresAreNotRemembered) {
  const auto load = [] { return load_once<StandIn>(stand_in_search, stand_in_symbols, check_stand_in); };
  const auto said = [&load](Error error) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(load().error(), error);
    return testing::internal::GetCapturedStderr();
  };
  runtime::runtime_init();
  EXPECT_THAT(said(Error::NotFound), HasSubstr("tried libnot_on_this_machine.so ("));
  setenv(kVariable, kLibrary, 1);
  refused = "the stand-in has version 1.2, expected 2: update it";
  EXPECT_THAT(said(Error::NotSupported), HasSubstr(refused));
  refused = "";
  const auto loaded = load();
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ((*loaded)->sum(2, 40), 42);
  EXPECT_EQ((*loaded)->version, "1.2");
  unsetenv(kVariable);
  refused = "not asked again";
  EXPECT_EQ(*load(), *loaded);
}

TEST_F(SharedLibraryTest, AFailedCallIsLoggedWithItsCode) {
  runtime::runtime_init();
  EXPECT_EQ(check_call("Vendor", 0, "VendorRun", "the network was run", Error::Internal), Error::Ok);
  testing::internal::CaptureStderr();
  EXPECT_EQ(check_call("Vendor", 3, "VendorRun", "the network was run", Error::Internal), Error::Internal);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("Vendor: VendorRun failed with the code 3 while the network was run"));
}

TEST_F(SharedLibraryTest, FindsTheFileThatContainsAFunction) {
  const SharedLibrary library = open({kLibrary});
  EXPECT_TRUE(fs::equivalent(file_of_code(reinterpret_cast<const void*>(sum_)), kLibrary));
  int local = 0;
  EXPECT_EQ(file_of_code(&local), "");
}

TEST_F(SharedLibraryTest, FoldersMayBeAmongTheNames) {
  copy("libstand_in.so.3");
  EXPECT_EQ(open({"libstand_in.so", folder_.string()}).error(), Error::Ok);
  EXPECT_THAT(open({"libother.so", folder_.string()}).problem(),
              HasSubstr(folder_.string() + " (it has no libother.so)"));
}

#ifndef _WIN32
TEST_F(SharedLibraryTest, IsUnloadedWithItsLastOwnerUnlessItIsKept) {
  const std::string path = copy("libunloaded.so");
  const auto is_loaded = [](const std::string& file) {
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD);
    return library != nullptr && dlclose(library) == 0;
  };
  {
    SharedLibrary first = open({path});
    const SharedLibrary second = std::move(first);
    EXPECT_EQ(second.error(), Error::Ok);
    EXPECT_TRUE(is_loaded(path));
    first = open({path});
  }
  EXPECT_FALSE(is_loaded(path));
  symbols_.emplace_back("stand_in_other", &other_);
  EXPECT_EQ(open({path}).error(), Error::NotSupported);
  EXPECT_FALSE(is_loaded(path));
  symbols_.pop_back();
  open({path}).keep();
  EXPECT_TRUE(is_loaded(path));
  EXPECT_EQ(sum_(1, 1), 2);
}
#endif

}  // namespace
}  // namespace executorch::extension::delegate
