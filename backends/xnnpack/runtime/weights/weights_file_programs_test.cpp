// SPDX-License-Identifier: BSD-3-Clause
// Programs that use a file of packed weights: they pack once, and use no record that does not fit their layers.
#include "paths.h"
#include "weights/weights_file_testing.h"

#include <cstring>

#include <executorch/backends/xnnpack/runtime/XNNPACKBackend.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/backend/interface.h>

namespace executorch {
namespace backends {
namespace xnnpack {
using executorch::tests::kCorpusFolder;

namespace {

using PackedWeightsOfPrograms = PackedWeightsFile;

/// Sets the backend's file of packed weights for the lifetime of the object.
class UsesFile {
 public:
  UsesFile(const std::string& path, bool writes) { set(path, writes); }
  ~UsesFile() { set("", false); }

 private:
  static void set(const std::string& path, bool writes) {
    runtime::BackendOptions<2> options;
    ASSERT_EQ(options.set_option(packed_cache_path_option_key, path.c_str()), runtime::Error::Ok);
    ASSERT_EQ(options.set_option(save_weight_cache_on_disk_option_key, writes), runtime::Error::Ok);
    ASSERT_EQ(runtime::set_option(xnnpack_backend_key, options.view()), runtime::Error::Ok);
  }
};

const std::string kLinear = std::string(kCorpusFolder) + "/linear_xnn/model.pte";
const std::string kHalves = std::string(kCorpusFolder) + "/xnn_fp16/model.pte";
const std::string kConvolutions = std::string(kCorpusFolder) + "/xnn_per_op/model.pte";
const std::string kIntegers = std::string(kCorpusFolder) + "/q8_static_pertensor_xnn/model.pte";

Bytes run(const std::string& program) {
  extension::Module module(program);
  const auto meta = module.method_meta("forward");
  EXPECT_TRUE(meta.ok());
  const auto input = *meta->input_tensor_meta(0);
  const auto output =
      module.forward(extension::ones({input.sizes().begin(), input.sizes().end()}, input.scalar_type()));
  EXPECT_TRUE(output.ok());
  if (!output.ok()) {
    return {};
  }
  const auto tensor = output->at(0).toTensor();
  const auto* data = static_cast<const uint8_t*>(tensor.const_data_ptr());
  return {data, data + tensor.nbytes()};
}

TEST_F(PackedWeightsOfPrograms, ProgramsPackOnceForAllStarts) {
  for (const std::string& program : {kLinear, kHalves, kIntegers}) {
    if (extension::Module(program).load_method("forward") == runtime::Error::NotSupported) {
      ASSERT_EQ(program, kHalves);  // the processor may lack float16 instructions
      continue;
    }
    path_ += "+";
    const Bytes expected = run(program);
    Bytes written;
    for (size_t start = 0; start < 3; ++start) {
      const UsesFile uses(path_, start < 2);
      EXPECT_EQ(run(program), expected);
      if (start == 0) {
        written = read();
        ASSERT_GT(written.size(), 128u) << "the file has no record for " << program;
      } else {
        EXPECT_EQ(read(), written) << program;
      }
    }
  }
}

/// A copy of `file` whose records are `change` bytes longer or shorter, with valid hashes: only a writer who knows the
/// format can produce it.
Bytes with_other_sizes(const Bytes& file, int64_t change) {
  constexpr size_t kSeedAt = 32, kSizeAt = 40, kContentAt = 48, kNameAt = 64, kHeader = 128;
  ContentName seed{};
  std::memcpy(&seed, &file[kSeedAt], sizeof(seed));
  Bytes changed(file.begin(), file.begin() + kHeader);
  for (size_t at = kHeader; at < file.size();) {
    Bytes header(file.begin() + static_cast<std::ptrdiff_t>(at),
                 file.begin() + static_cast<std::ptrdiff_t>(at + kHeader));
    uint64_t size = 0;
    std::memcpy(&size, &header[kSizeAt], sizeof(size));
    at += kHeader;
    Bytes bytes(file.begin() + static_cast<std::ptrdiff_t>(at), file.begin() + static_cast<std::ptrdiff_t>(at + size));
    at += (size + kHeader - 1) / kHeader * kHeader;
    const auto wanted = static_cast<int64_t>(size) + change;
    bytes.resize(wanted > 0 ? static_cast<size_t>(wanted) : 1, 0x7f);
    size = bytes.size();
    std::memcpy(&header[kSizeAt], &size, sizeof(size));
    const ContentName content = name_content(seed, bytes.data(), bytes.size());
    std::memcpy(&header[kContentAt], &content, sizeof(content));
    const ContentName name = name_content(seed, header.data(), kNameAt);
    std::memcpy(&header[kNameAt], &name, sizeof(name));
    changed.insert(changed.end(), header.begin(), header.end());
    changed.insert(changed.end(), bytes.begin(), bytes.end());
    changed.resize((changed.size() + kHeader - 1) / kHeader * kHeader);
  }
  return changed;
}

TEST_F(PackedWeightsOfPrograms, ARecordOfAnotherSizeThanTheLayerNeedsIsNotUsed) {
  // The backend keeps files open, so each variant needs another path.
  size_t files = 0;
  const auto name_another_file = [&] { path_ = (folder_ / ("sizes" + std::to_string(files++))).string(); };
  for (const std::string& program : {kLinear, kHalves, kIntegers, kConvolutions}) {
    if (extension::Module(program).load_method("forward") == runtime::Error::NotSupported) {
      continue;  // the processor may lack float16 instructions
    }
    const auto run_with_file = [&](bool writes) {
      const UsesFile uses(path_, writes);
      return run(program);
    };
    const Bytes expected = run(program);
    name_another_file();
    ASSERT_EQ(run_with_file(true), expected);
    const Bytes right = read();
    ASSERT_GT(right.size(), 128u) << program;
    for (const int64_t change : {-1, -64, -1000000, 1, 128}) {
      const std::string what = std::string(program) + ", changed by " + std::to_string(change) + " bytes: ";
      const Bytes wrong = with_other_sizes(right, change);
      for (const bool writes : {false, true}) {
        name_another_file();
        write(wrong);
        const std::string log = logged([&] { EXPECT_EQ(run_with_file(writes), expected) << what; });
        EXPECT_NE(log.find("for a layer that needs"), std::string::npos) << what << log;
      }
      const Bytes complete = read();
      name_another_file();
      write(complete);
      const std::string log = logged([&] { EXPECT_EQ(run_with_file(false), expected) << what; });
      EXPECT_EQ(log, "") << what << "the last record of a key must be used";
    }
  }
}

TEST_F(PackedWeightsOfPrograms, AProgramWithTheNamesOfOtherWeightsGetsItsOwn) {
  std::ifstream file(kLinear, std::ios::binary);
  Bytes bytes{std::istreambuf_iterator<char>(file), {}};
  // The file ends with the bias. Change the signs of its four numbers, but keep its name, the SHA-256 of the original.
  for (size_t at = bytes.size() - 16; at < bytes.size(); at += 4) {
    bytes[at + 3] ^= 0x80;
  }
  const std::string other = (folder_ / "other.pte").string();
  std::ofstream(other, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const Bytes expected = run(kLinear), expected_other = run(other);
  ASSERT_NE(expected, expected_other);
  for (const bool liar_first : {false, true}) {
    path_ += "+";
    const UsesFile uses(path_, true);
    EXPECT_EQ(run(liar_first ? other : kLinear), liar_first ? expected_other : expected);
    EXPECT_EQ(run(other), expected_other);
    EXPECT_EQ(run(kLinear), expected);
    EXPECT_EQ(run(other), expected_other);
  }
}

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
