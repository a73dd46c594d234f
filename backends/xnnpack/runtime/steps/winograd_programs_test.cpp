// SPDX-License-Identifier: BSD-3-Clause
// A program with and without memory for transformed filters.
#include <algorithm>
#include <cmath>
#include <utility>

#include <executorch/backends/xnnpack/runtime/XNNPACKBackend.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/backend/interface.h>

#include "paths.h"
#include "weights/weights_file_testing.h"

namespace executorch {
namespace backends {
namespace xnnpack {
using executorch::tests::kDataFolder;

namespace {

// As in tests/data/make_transformed_filters.py.
constexpr int kChannels = 32, kHeight = 8, kWidth = 12;
constexpr int kDefault = 1 << 27;
/// How many bytes more a convolution has for filters of 6 x 6 in place of 3 x 3 values: 36 rows of channels and one of
/// zeros for each value, in place of 9 rows.
constexpr int kAdded = (36 * (kChannels + 1) - 9 * kChannels) * kChannels * 4;

class TransformedFilters : public PackedWeightsFile {
 protected:
  void TearDown() override {
    use("", kDefault);
    PackedWeightsFile::TearDown();
  }

  static void use(const std::string& path, int filter_bytes) {
    runtime::BackendOptions<3> options;
    ASSERT_EQ(options.set_option(packed_cache_path_option_key, path.c_str()), runtime::Error::Ok);
    ASSERT_EQ(options.set_option(save_weight_cache_on_disk_option_key, !path.empty()), runtime::Error::Ok);
    ASSERT_EQ(options.set_option(transformed_filter_bytes_option_key, filter_bytes), runtime::Error::Ok);
    ASSERT_EQ(runtime::set_option(xnnpack_backend_key, options.view()), runtime::Error::Ok);
  }

  /// Runs the program, compares it with eager's result, and returns the bytes of its packed weights.
  int packed_bytes(int filter_bytes) {
    path_ = (folder_ / ("filters" + std::to_string(filter_bytes))).string();  // the backend keeps files open
    use(path_, filter_bytes);
    const std::string folder = std::string(kDataFolder) + "/transformed_filters";
    extension::Module module(folder + "/model.pte");
    std::vector<float> image(kChannels * kHeight * kWidth), expected(image.size());
    for (size_t i = 0; i < image.size(); ++i) {
      image[i] = static_cast<float>(static_cast<int>(7 * i % 13) - 6) / 4.0f;
    }
    std::ifstream(folder + "/result.bin", std::ios::binary)
        .read(reinterpret_cast<char*>(expected.data()), static_cast<std::streamsize>(expected.size() * sizeof(float)));
    const auto results = module.forward(extension::make_tensor_ptr({1, kChannels, kHeight, kWidth}, std::move(image)));
    EXPECT_TRUE(results.ok());
    if (!results.ok()) {
      return 0;
    }
    const float* const found = results->at(0).toTensor().const_data_ptr<float>();
    float largest = 0.0f, difference = 0.0f;
    for (size_t i = 0; i < expected.size(); ++i) {
      largest = std::max(largest, std::abs(expected[i]));
      difference = std::max(difference, std::abs(expected[i] - found[i]));
    }
    EXPECT_GT(largest, 0.1f);
    EXPECT_LE(difference, 1e-5f * largest) << filter_bytes << " bytes";
    return static_cast<int>(read().size());
  }
};

TEST_F(TransformedFilters, AreKeptWithinTheirMemory) {
  const int without = packed_bytes(0);
  ASSERT_GT(without, 2 * 9 * kChannels * kChannels * 4);
#ifdef __aarch64__
  const int one = kAdded, two = 2 * kAdded;
#else  // the transforms of few filters take less time than loading them
  const int one = 0, two = 0;
#endif
  EXPECT_EQ(packed_bytes(kDefault) - without, two);
  EXPECT_EQ(packed_bytes(2 * kAdded) - without, two);
  EXPECT_EQ(packed_bytes(2 * kAdded - 1) - without, one);
  EXPECT_EQ(packed_bytes(kAdded) - without, one);
  EXPECT_EQ(packed_bytes(kAdded - 1) - without, 0);
}

TEST_F(TransformedFilters, OtherMemoryIsAnError) {
  runtime::BackendOptions<1> options;
  ASSERT_EQ(options.set_option(transformed_filter_bytes_option_key, -1), runtime::Error::Ok);
  const std::string log = logged(
      [&] { EXPECT_EQ(runtime::set_option(xnnpack_backend_key, options.view()), runtime::Error::InvalidArgument); });
  EXPECT_NE(log.find("0 or more"), std::string::npos) << log;
}

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
