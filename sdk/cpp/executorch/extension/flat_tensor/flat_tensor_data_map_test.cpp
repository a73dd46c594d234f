// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <executorch/extension/data_loader/shared_ptr_data_loader.h>
#include <executorch/extension/flat_tensor/serialize/flat_tensor_header.h>
#include <executorch/extension/flat_tensor/serialize/serialize.h>
#include <executorch/extension/named_data_map/merged_data_map.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/platform/runtime.h>

using executorch::aten::ScalarType;
using executorch::extension::FlatTensorDataMap;
using executorch::extension::FlatTensorHeader;
using executorch::extension::make_tensor_ptr;
using executorch::extension::SharedPtrDataLoader;
using executorch::extension::TensorPtr;
using executorch::extension::merged_data_map::MergedDataMap;
using executorch::runtime::DataLoader;
using executorch::runtime::Error;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::NamedDataMap;
using executorch::runtime::Result;
using executorch::runtime::Span;
using testing::ElementsAre;

namespace {

std::string ptd_of(const std::map<std::string, TensorPtr>& tensors, size_t alignment = 16) {
  std::map<std::string, executorch::aten::Tensor> map;
  for (const auto& [key, tensor] : tensors) {
    map.emplace(key, *tensor);
  }
  std::ostringstream out;
  EXPECT_EQ(executorch::extension::flat_tensor::save_ptd(out, map, alignment), Error::Ok);
  return out.str();
}

std::string sample_ptd() {
  return ptd_of({{"a", make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f})},
                 {"b", make_tensor_ptr({1, 2, 1, 3}, {1, 2, 3, 4, 5, 6}, {0, 2, 3, 1}, {}, ScalarType::Long)},
                 {"empty", make_tensor_ptr({0, 3}, std::vector<float>{})}});
}

// A loader of a copy of `bytes` with the alignment of a mapped file.
SharedPtrDataLoader loader_of(const std::string& bytes) {
  auto* copy = static_cast<char*>(::operator new(bytes.size() + 1, std::align_val_t(16)));
  std::memcpy(copy, bytes.data(), bytes.size());
  return SharedPtrDataLoader(
      std::shared_ptr<void>(copy, [](void* data) { ::operator delete(data, std::align_val_t(16)); }), bytes.size());
}

Error load_error(const std::string& bytes) {
  SharedPtrDataLoader loader = loader_of(bytes);
  return FlatTensorDataMap::load(&loader).error();
}

template <typename T>
void write_at(std::string* bytes, size_t offset, T value) {
  std::memcpy(bytes->data() + offset, &value, sizeof(value));
}

template <typename T>
T read_at(const std::string& bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

class FlatTensorTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { executorch::runtime::runtime_init(); }
};

}  // namespace

// PTD-01, PTD-02, PTD-15 to PTD-17
TEST_F(FlatTensorTest, ReadsBackWhatWasSaved) {
  SharedPtrDataLoader loader = loader_of(sample_ptd());
  const auto map = FlatTensorDataMap::load(&loader);
  ASSERT_TRUE(map.ok());
  ASSERT_EQ(map->get_num_keys().get(), 3u);
  EXPECT_STREQ(map->get_key(0).get(), "a");
  EXPECT_STREQ(map->get_key(2).get(), "empty");
  EXPECT_EQ(map->get_key(3).error(), Error::InvalidArgument);

  const auto layout = map->get_tensor_layout("b");
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->scalar_type(), ScalarType::Long);
  EXPECT_THAT(std::vector<int32_t>(layout->sizes().begin(), layout->sizes().end()), ElementsAre(1, 2, 1, 3));
  EXPECT_THAT(std::vector<int>(layout->dim_order().begin(), layout->dim_order().end()), ElementsAre(0, 2, 3, 1));
  EXPECT_EQ(layout->nbytes(), 48u);

  const auto data = map->get_data("a");
  ASSERT_TRUE(data.ok());
  ASSERT_EQ(data->size(), 16u);
  EXPECT_EQ(static_cast<const float*>(data->data())[3], 4.0f);
  EXPECT_EQ(map->get_data("empty")->size(), 0u);

  int64_t numbers[6] = {};
  ASSERT_EQ(map->load_data_into("b", numbers, sizeof(numbers)), Error::Ok);
  EXPECT_THAT(numbers, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(map->load_data_into("b", numbers, sizeof(numbers) + 1), Error::InvalidArgument);
}

TEST_F(FlatTensorTest, UnknownKeysAreNotFound) {
  SharedPtrDataLoader loader = loader_of(sample_ptd());
  const auto map = FlatTensorDataMap::load(&loader);
  EXPECT_EQ(map->get_data("c").error(), Error::NotFound);
  EXPECT_EQ(map->get_tensor_layout("").error(), Error::NotFound);
  EXPECT_EQ(map->load_data_into("c", nullptr, 0), Error::NotFound);
}

// PTD-04 to PTD-11: the fixed part of the file, byte for byte.
TEST_F(FlatTensorTest, HeaderIsAsDocumented) {
  const std::string ptd = sample_ptd();
  EXPECT_EQ(ptd.substr(4, 8), "FT01FH01");
  EXPECT_EQ(read_at<uint32_t>(ptd, 12), 40u);
  EXPECT_EQ(read_at<uint64_t>(ptd, 16), 48u);
  const auto flatbuffer_size = read_at<uint64_t>(ptd, 24);
  const auto base = read_at<uint64_t>(ptd, 32);
  EXPECT_EQ(base, (48 + flatbuffer_size + 15) / 16 * 16);
  EXPECT_EQ(base + read_at<uint64_t>(ptd, 40), ptd.size());
  const auto header = FlatTensorHeader::Parse(ptd.data(), ptd.size());
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->flatbuffer_offset, 48u);
  EXPECT_EQ(header->flatbuffer_size, flatbuffer_size);
  EXPECT_EQ(header->segment_base_offset, base);
  EXPECT_EQ(header->segment_data_size, ptd.size() - base);
}

TEST_F(FlatTensorTest, HeaderErrors) {
  std::string ptd = sample_ptd();
  EXPECT_EQ(FlatTensorHeader::Parse(ptd.data(), 63).error(), Error::InvalidArgument);
  EXPECT_EQ(FlatTensorHeader::Parse(nullptr, 64).error(), Error::InvalidArgument);
  write_at<uint32_t>(&ptd, 12, 39);
  EXPECT_EQ(FlatTensorHeader::Parse(ptd.data(), ptd.size()).error(), Error::InvalidExternalData);
  ptd[8] = 'X';
  EXPECT_EQ(FlatTensorHeader::Parse(ptd.data(), ptd.size()).error(), Error::NotFound);
  EXPECT_EQ(load_error(ptd), Error::InvalidExternalData);
}

TEST_F(FlatTensorTest, ImpossibleSizesInTheHeader) {
  const std::string ptd = sample_ptd();
  for (const size_t field : {size_t{16}, size_t{24}, size_t{32}, size_t{40}}) {
    for (const uint64_t value : {~uint64_t{0}, ~uint64_t{0} - 47, uint64_t{1} << 63, uint64_t{ptd.size()} + 1}) {
      std::string damaged = ptd;
      write_at<uint64_t>(&damaged, field, value);
      EXPECT_EQ(load_error(damaged), Error::InvalidExternalData) << field << " = " << value;
    }
  }
}

TEST_F(FlatTensorTest, ForeignAndShortFiles) {
  EXPECT_EQ(load_error(""), Error::InvalidArgument);
  EXPECT_EQ(load_error("FT01"), Error::InvalidArgument);
  EXPECT_EQ(load_error(std::string(1000, 'x')), Error::InvalidExternalData);
  EXPECT_EQ(FlatTensorDataMap::load(nullptr).error(), Error::InvalidArgument);
}

TEST_F(FlatTensorTest, EveryTruncationIsRefused) {
  const std::string ptd = sample_ptd();
  for (size_t size = 0; size < ptd.size(); ++size) {
    EXPECT_NE(load_error(ptd.substr(0, size)), Error::Ok) << size;
  }
}

TEST_F(FlatTensorTest, MemoryThatIsNotAlignedIsRefused) {
  const std::string ptd = sample_ptd();
  auto memory = std::make_shared<std::vector<uint64_t>>(ptd.size() / 8 + 2);
  char* const shifted = reinterpret_cast<char*>(memory->data()) + 4;
  std::memcpy(shifted, ptd.data(), ptd.size());
  SharedPtrDataLoader loader(std::shared_ptr<void>(memory, shifted), ptd.size());
  EXPECT_EQ(FlatTensorDataMap::load(&loader).error(), Error::InvalidArgument);
}

/// A loader that fails, or returns too few bytes, from a given read on.
class FailingLoader final : public DataLoader {
 public:
  FailingLoader(std::string bytes, int good_reads) : bytes_(std::move(bytes)), good_reads_(good_reads) {}

  Result<FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo&) const override {
    if (reads_++ >= good_reads_) {
      return Error::AccessFailed;
    }
    return FreeableBuffer(bytes_.data() + offset, size, nullptr);
  }

  Result<size_t> size() const override {
    if (good_reads_ < 0) {
      return Error::NotSupported;
    }
    return bytes_.size();
  }

 private:
  std::string bytes_;
  int good_reads_;
  mutable int reads_ = 0;
};

TEST_F(FlatTensorTest, ErrorsOfTheLoaderArePassedOn) {
  FailingLoader without_size(sample_ptd(), -1);
  EXPECT_EQ(FlatTensorDataMap::load(&without_size).error(), Error::NotSupported);
  for (const int good_reads : {0, 1}) {
    FailingLoader loader(sample_ptd(), good_reads);
    EXPECT_EQ(FlatTensorDataMap::load(&loader).error(), Error::AccessFailed) << good_reads;
  }
  FailingLoader loader(sample_ptd(), 2);
  const auto map = FlatTensorDataMap::load(&loader);
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(map->get_data("a").error(), Error::AccessFailed);
}

// A damaged file that still loads must be safe to read; the sanitizers check this.
TEST_F(FlatTensorTest, EveryFlippedBitIsRefusedOrHarmless) {
  const std::string ptd = sample_ptd();
  for (size_t bit = 0; bit < ptd.size() * 8; ++bit) {
    std::string damaged = ptd;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    SharedPtrDataLoader loader = loader_of(damaged);
    const auto map = FlatTensorDataMap::load(&loader);
    if (!map.ok()) {
      continue;
    }
    for (uint32_t i = 0; i < map->get_num_keys().get(); ++i) {
      const char* key = map->get_key(i).get();
      const auto layout = map->get_tensor_layout(key);
      const auto data = map->get_data(key);
      if (layout.ok()) {
        ASSERT_TRUE(data.ok());
        EXPECT_LE(layout->nbytes(), data->size());
      }
    }
  }
}

TEST_F(FlatTensorTest, KeysAreUnique) {
  std::string ptd = ptd_of({{"k1", make_tensor_ptr({1.0f})}, {"k2", make_tensor_ptr({2.0f})}});
  const size_t second = ptd.find("k2");
  ASSERT_NE(second, std::string::npos);
  ptd[second + 1] = '1';
  EXPECT_EQ(load_error(ptd), Error::InvalidExternalData);
}

TEST_F(FlatTensorTest, SavingToAFileIsAllOrNothing) {
  const std::string path = testing::TempDir() + "saved.ptd";
  const auto tensor = make_tensor_ptr({1.0f, 2.0f});
  const std::map<std::string, executorch::aten::Tensor> map = {{"w", *tensor}};
  using executorch::extension::flat_tensor::save_ptd;
  ASSERT_EQ(save_ptd(path, map, 128), Error::Ok);
  EXPECT_FALSE(std::ifstream(path + ".partial").is_open());
  EXPECT_EQ(save_ptd(testing::TempDir() + "no/such/folder.ptd", map, 128), Error::AccessFailed);
  EXPECT_EQ(save_ptd(path, map, 24), Error::InvalidArgument);
  EXPECT_EQ(save_ptd(path, map, 0), Error::InvalidArgument);
}

TEST_F(FlatTensorTest, MergedMapsFindEveryKey) {
  SharedPtrDataLoader first_loader = loader_of(sample_ptd());
  SharedPtrDataLoader second_loader = loader_of(ptd_of({{"c", make_tensor_ptr({5.0, 6.0})}}));
  const auto first = FlatTensorDataMap::load(&first_loader);
  const auto second = FlatTensorDataMap::load(&second_loader);
  ASSERT_TRUE(first.ok() && second.ok());
  const NamedDataMap* maps[] = {&first.get(), &second.get()};
  const auto merged = MergedDataMap::load(Span<const NamedDataMap*>(maps, 2));
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged->get_num_keys().get(), 4u);
  EXPECT_STREQ(merged->get_key(3).get(), "c");
  EXPECT_EQ(merged->get_key(4).error(), Error::InvalidArgument);
  EXPECT_EQ(merged->get_tensor_layout("c")->scalar_type(), ScalarType::Double);
  EXPECT_EQ(merged->get_data("b")->size(), 48u);
  EXPECT_EQ(merged->get_data("d").error(), Error::NotFound);
  double numbers[2];
  ASSERT_EQ(merged->load_data_into("c", numbers, sizeof(numbers)), Error::Ok);
  EXPECT_EQ(numbers[1], 6.0);
}

TEST_F(FlatTensorTest, MergedMapsRefuseRepeatedKeys) {
  SharedPtrDataLoader loader = loader_of(sample_ptd());
  const auto map = FlatTensorDataMap::load(&loader);
  const NamedDataMap* twice[] = {&map.get(), &map.get()};
  EXPECT_EQ(MergedDataMap::load(Span<const NamedDataMap*>(twice, 2)).error(), Error::InvalidArgument);
  const NamedDataMap* null[] = {nullptr};
  EXPECT_EQ(MergedDataMap::load(Span<const NamedDataMap*>(null, 1)).error(), Error::InvalidArgument);
  const NamedDataMap* some_null[] = {nullptr, &map.get(), nullptr};
  const auto merged = MergedDataMap::load(Span<const NamedDataMap*>(some_null, 3));
  ASSERT_TRUE(merged.ok()) << "null entries are skipped";
  EXPECT_EQ(merged->get_num_keys().get(), map->get_num_keys().get());
  EXPECT_EQ(MergedDataMap::load(Span<const NamedDataMap*>()).error(), Error::InvalidArgument);
}
