// SPDX-License-Identifier: BSD-3-Clause
// Whichever allocation of the cache fails, an exception reaches the caller, which reports it; the process does not end,
// and the cache works afterwards.
#include "model_cache.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <string>

#include <executorch/runtime/platform/runtime.h>
#include <gtest/gtest.h>

#include "faults.h"

namespace executorch {
namespace backends {
namespace coreml {
namespace {

using runtime::Error;
using runtime::Result;

/// Opens a cache that keeps one model, and adds two models.
Error use(const std::string& folder, const Folder& model) {
  const auto compile = [](const std::string& package) -> Result<std::string> { return package; };
  const auto cache = ModelCache::open(folder, 1);
  ET_CHECK_OK_OR_RETURN_ERROR(cache.error());
  ET_CHECK_OK_OR_RETURN_ERROR((*cache)->add("aa", model, "model.mlpackage", compile).error());
  return (*cache)->add("bb", model, "model.mlpackage", compile).error();
}

TEST(ModelCacheFaultsTest, AnyAllocationFails) {
  runtime::runtime_init();
  // Uses a folder in memory, because each of about a thousand files is flushed to the disk.
  std::string root =
      std::filesystem::is_directory("/dev/shm") ? "/dev/shm/model_cache_XXXXXX" : "/tmp/model_cache_XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  const std::string folder = root + "/a folder with a name that no string keeps inside";
  const std::string weights = "weights";
  const auto* const data = reinterpret_cast<const uint8_t*>(weights.data());
  const Folder model = {{"model.mlpackage", "model.mlpackage/Data"},
                        {{"model.mlpackage/Data/weights", data, weights.size()}}};
  size_t n = 0;
  for (bool met = true; met; ++n) {
    Error error = Error::Internal;
    faults::arm(faults::Kind::kAllocation, n);
    try {
      error = use(folder, model);
    } catch (const std::bad_alloc&) {
      error = Error::MemoryAllocationFailed;
    }
    met = faults::disarm();
    EXPECT_TRUE(error == Error::Ok || met) << "allocation " << n << ": " << runtime::error_name(error);
    ASSERT_EQ(use(folder, model), Error::Ok) << "after allocation " << n;
  }
  EXPECT_GT(n, 20u);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace coreml
}  // namespace backends
}  // namespace executorch
