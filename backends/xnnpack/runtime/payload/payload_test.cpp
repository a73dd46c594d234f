// SPDX-License-Identifier: BSD-3-Clause
// Constants whose bytes are in named data instead of the payload.
#include "payload/payload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <executorch/runtime/platform/runtime.h>

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

using runtime::Error;
using runtime::FreeableBuffer;
using runtime::Result;

/// Named data in memory that counts how often a whole entry is loaded.
class Data final : public runtime::NamedDataMap {
 public:
  explicit Data(bool reads_parts) : reads_parts_(reads_parts) {}

  void add(const std::string& name, size_t size) {
    std::vector<uint8_t>& bytes = bytes_[name];
    for (size_t i = 0; i < size; ++i) {
      bytes.push_back(static_cast<uint8_t>(i * 7 + size));
    }
  }
  const std::vector<uint8_t>& of(const std::string& name) const { return bytes_.at(name); }

  Result<FreeableBuffer> get_data(std::string_view key) const override {
    ++loads;
    if (fails_with != Error::Ok) {
      return fails_with;
    }
    const auto found = bytes_.find(std::string(key));
    if (found == bytes_.end()) {
      return Error::NotFound;
    }
    return FreeableBuffer(found->second.data(), found->second.size(), nullptr);
  }

  Error load_data_into(std::string_view key, void* buffer, size_t size) const override {
    const auto found = bytes_.find(std::string(key));
    if (!reads_parts_) {
      return Error::NotImplemented;
    }
    if (found == bytes_.end() || size > found->second.size()) {
      return found == bytes_.end() ? Error::NotFound : Error::InvalidArgument;
    }
    std::memcpy(buffer, found->second.data(), size);
    return Error::Ok;
  }

  Result<const runtime::TensorLayout> get_tensor_layout(std::string_view) const override { return Error::NotFound; }
  Result<uint32_t> get_num_keys() const override { return static_cast<uint32_t>(bytes_.size()); }
  Result<const char*> get_key(uint32_t) const override { return Error::NotFound; }

  mutable int loads = 0;
  Error fails_with = Error::Ok;

 private:
  const bool reads_parts_;
  std::map<std::string, std::vector<uint8_t>> bytes_;
};

class XnnpackPayload : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    runtime::runtime_init();
    data_.add("small", 100);
    data_.add("large", size_t{1} << 20);
    std::vector<flatbuffers::Offset<fb_xnnpack::ConstantDataOffset>> entries;
    for (const char* name : {"", "small", "large", "absent"}) {
      entries.push_back(fb_xnnpack::CreateConstantDataOffsetDirect(builder_, 0, 0, name));
    }
    const auto constants = builder_.CreateVector(entries);
    builder_.Finish(fb_xnnpack::CreateXNNGraph(builder_, 0, 0, 0, 0, 0, 0, 0, 0, constants), "XN01");
    ASSERT_EQ(payload_.open(builder_.GetBufferPointer(), builder_.GetSize(), &data_), Error::Ok);
  }

  enum Entry : uint32_t { kSmall = 1, kLarge, kAbsent, kNone };

  /// copy() must return the start of these bytes, followed by zeros.
  void expect_copy(Entry entry, const char* name, size_t size) {
    const auto copy = payload_.copy(entry, size);
    ASSERT_TRUE(copy.ok());
    EXPECT_TRUE(std::equal(copy->get(), copy->get() + size, data_.of(name).begin()));
    EXPECT_EQ(std::count(copy->get() + size, copy->get() + size + 16, 0), 16);
  }

  Data data_{GetParam()};
  flatbuffers::FlatBufferBuilder builder_;
  Payload payload_;
};

TEST_P(XnnpackPayload, CopiesFewBytesWithoutLoadingThem) {
  expect_copy(kSmall, "small", 100);
  expect_copy(kSmall, "small", 1);
  EXPECT_EQ(data_.loads, GetParam() ? 0 : 2);
}

TEST_P(XnnpackPayload, CopiesManyBytesOfWhatItLoads) {
  expect_copy(kLarge, "large", size_t{1} << 20);
  EXPECT_EQ(data_.loads, 1);
}

TEST_P(XnnpackPayload, MakesNoRoomForBytesThatAreNotThere) {
  EXPECT_EQ(payload_.copy(kSmall, 101).error(), Error::InvalidProgram);
  EXPECT_EQ(payload_.copy(kLarge, (uint64_t{1} << 20) + 1).error(), Error::InvalidProgram);
  EXPECT_EQ(payload_.copy(kLarge, UINT64_MAX).error(), Error::InvalidProgram);
  EXPECT_EQ(payload_.copy(kSmall, 0).error(), Error::InvalidProgram);
  EXPECT_EQ(payload_.copy(kNone, 4).error(), Error::InvalidProgram);
  EXPECT_EQ(payload_.copy(kAbsent, 4).error(), Error::NotFound);
}

TEST_P(XnnpackPayload, ErrorsOfTheDataMapAreKept) {
  data_.fails_with = Error::AccessFailed;
  EXPECT_EQ(payload_.copy(kLarge, size_t{1} << 20).error(), Error::AccessFailed);
}

INSTANTIATE_TEST_SUITE_P(Maps, XnnpackPayload, ::testing::Bool(),
                         [](const auto& map) { return map.param ? "ThatReadParts" : "ThatReadAll"; });

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
