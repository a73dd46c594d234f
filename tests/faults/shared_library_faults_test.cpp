// SPDX-License-Identifier: BSD-3-Clause
// Each allocation in turn fails while a folder is searched for a vendor's library: the result is an exception that the
// delegate's skeleton reports, and the process does not end.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>

#include <executorch/extension/delegate/shared_library.h>
#include <gtest/gtest.h>

#include "faults.h"

namespace {

using executorch::extension::delegate::SharedLibrary;
using executorch::runtime::Error;

TEST(SharedLibraryFaultsTest, AnyAllocationOfTheSearchFails) {
  std::string folder = (std::filesystem::temp_directory_path() / "a_folder_of_libraries_XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  for (int version = 1; version < 20; ++version) {
    std::ofstream(folder + "/libname_of_a_vendor.so." + std::to_string(version)) << "not a library";
  }
  size_t n = 0;
  for (bool met = true; met; ++n) {
    Error error = Error::Internal;
    faults::arm(faults::Kind::kAllocation, n);
    try {
      error = SharedLibrary::open({"A vendor's library", {"libname_of_a_vendor.so", folder}, nullptr, "install it"}, {})
                  .error();
    } catch (const std::bad_alloc&) {
      error = Error::MemoryAllocationFailed;
    }
    met = faults::disarm();
    EXPECT_TRUE(error == Error::NotFound || (met && error == Error::MemoryAllocationFailed)) << "allocation " << n;
  }
  EXPECT_GT(n, 30u);
  std::filesystem::remove_all(folder);
}

}  // namespace
