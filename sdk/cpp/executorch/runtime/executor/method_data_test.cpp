// SPDX-License-Identifier: BSD-3-Clause
// The sources of tensors' data: initial values, zeros, the program's named data and other files.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <executorch/runtime/executor/merged_data_map.h>
#include <executorch/runtime/executor/test/method_fixture.h>

using executorch::aten::ScalarType;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::Method;
using executorch::runtime::NamedDataMap;
using executorch::runtime::Result;
using executorch::runtime::Span;
using executorch::runtime::TensorLayout;
using executorch::runtime::internal::MergedDataMap;
using namespace executorch::runtime::testing;  // NOLINT: test helpers
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

/// Tensors of floats by name, like a .ptd.
class FloatMap final : public NamedDataMap {
 public:
  struct Entry {
    std::vector<int32_t> sizes;
    std::vector<float> values;
    ScalarType type = ScalarType::Float;
  };

  explicit FloatMap(std::map<std::string, Entry> entries) : entries_(std::move(entries)) {}

  Result<const TensorLayout> get_tensor_layout(std::string_view key) const override {
    const Entry* entry = find(key);
    if (entry == nullptr) {
      return Error::NotFound;
    }
    static const uint8_t kOrder[] = {0, 1, 2, 3};
    return TensorLayout::create(Span<const int32_t>(entry->sizes.data(), entry->sizes.size()),
                                Span<const uint8_t>(kOrder, entry->sizes.size()), entry->type);
  }
  Result<FreeableBuffer> get_data(std::string_view key) const override {
    const Entry* entry = find(key);
    if (entry == nullptr) {
      return Error::NotFound;
    }
    ++borrowed;
    return FreeableBuffer(
        entry->values.data(), entry->values.size() * sizeof(float),
        [](void* map, void*, size_t) { --static_cast<const FloatMap*>(map)->borrowed; }, const_cast<FloatMap*>(this));
  }
  Error load_data_into(std::string_view key, void* buffer, size_t size) const override {
    const Entry* entry = find(key);
    if (entry == nullptr) {
      return Error::NotFound;
    }
    std::memcpy(buffer, entry->values.data(), size);
    return Error::Ok;
  }
  Result<uint32_t> get_num_keys() const override { return static_cast<uint32_t>(entries_.size()); }
  Result<const char*> get_key(uint32_t index) const override {
    if (index >= entries_.size()) {
      return Error::InvalidArgument;
    }
    return std::next(entries_.begin(), index)->first.c_str();
  }

  /// Buffers that were returned and not freed yet.
  mutable int borrowed = 0;

 private:
  const Entry* find(std::string_view key) const {
    const auto found = entries_.find(std::string(key));
    return found == entries_.end() ? nullptr : &found->second;
  }

  std::map<std::string, Entry> entries_;
};

TensorSpec named(TensorSpec spec, const std::string& name,
                 fb::TensorDataLocation location = fb::TensorDataLocation::SEGMENT) {
  spec.name = name;
  spec.location = location;
  return spec;
}

class MethodDataTest : public MethodFixture {
 protected:
  /// out = weight + weight, where the weight is in another file.
  static void use_external(ProgramBuilder& b, TensorSpec weight) {
    const int32_t w = b.tensor(named(std::move(weight), "weight", fb::TensorDataLocation::EXTERNAL));
    const int32_t out = b.tensor(at(64));
    b.outputs = {out};
    b.call(b.op("test::add", "out"), {w, w, out, out});
  }

  void refuses(ProgramBuilder& b, const NamedDataMap* map, const char* line, Error error = Error::InvalidExternalData) {
    logged.clear();
    EXPECT_EQ(load(b, map).error(), error);
    EXPECT_THAT(logged, ElementsAre(HasSubstr(line)));
  }

  Span<const uint8_t> arena_bytes(size_t from, size_t to) const {
    return Span<const uint8_t>(arena() + from, to - from);
  }
};

// The arena of these tests is full of 0xFF.
TEST_F(MethodDataTest, NamedStateWithoutDataStartsAtZeroAndNothingElseIsTouched) {
  ProgramBuilder b;
  b.tensor(at(0, {4}));
  const int32_t state = b.tensor(named(at(16, {4}), "cache"));
  const int32_t empty = b.tensor(named(at(32, {0}), "empty"));
  b.outputs = {state, empty};
  auto method = load(b);
  ASSERT_TRUE(method.ok()) << log();
  EXPECT_THAT(arena_bytes(16, 32), Each(0));
  EXPECT_THAT(arena_bytes(0, 16), Each(0xFF));
  EXPECT_THAT(arena_bytes(32, kArenaBytes), Each(0xFF));
}

TEST_F(MethodDataTest, StateStaysFromCallToCallAndStartsAnewWithTheMethod) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0));
  const int32_t state = b.tensor(named(at(16), "sum"));
  b.inputs = {x};
  b.outputs = {state};
  b.call(b.op("test::add", "out"), {state, x, state, state});
  std::vector<float> data{1, 2};
  auto first = load(b);
  ASSERT_TRUE(first.ok());
  for (const float count : {1.0f, 2.0f, 3.0f}) {
    ASSERT_EQ(first->set_input(EValue(tensor(data, {2})), 0), Error::Ok);
    ASSERT_EQ(first->execute(), Error::Ok);
    EXPECT_THAT(read(first->get_output(0)), ElementsAre(count, 2 * count));
  }
  auto second = load_again();
  ASSERT_TRUE(second.ok());
  EXPECT_THAT(read(second->get_output(0)), ElementsAre(0, 0));
}

TEST_F(MethodDataTest, AnArenaThatIsSaidToHoldZerosIsNotTouched) {
  ProgramBuilder b;
  b.tensor(named(at(16, {4}), "cache"));
  claim_zeroed_ = true;
  ASSERT_TRUE(load(b).ok());
  EXPECT_THAT(arena_bytes(0, kArenaBytes), Each(0xFF));
}

TEST_F(MethodDataTest, StateStartsWithItsValueFromTheFile) {
  ProgramBuilder b;
  b.segments = {{1, 2, 3}, bytes_of({9, 9, 1.5, 2.5})};
  b.mutable_segment = 1;
  b.mutable_offsets = {0, 8};
  TensorSpec state = named(at(16), "module.state");
  state.data_buffer_idx = 1;
  b.outputs = {b.tensor(state)};
  auto method = load(b);
  ASSERT_TRUE(method.ok()) << log();
  EXPECT_THAT(read(method->get_output(0)), ElementsAre(1.5, 2.5));
  EXPECT_THAT(arena_bytes(24, kArenaBytes), Each(0xFF));

  ProgramBuilder outside;
  outside.segments = {bytes_of({1, 2})};
  outside.mutable_offsets = {0, 4};
  outside.tensor(state);
  EXPECT_EQ(load(outside).error(), Error::InvalidProgram);
}

TEST_F(MethodDataTest, MutableBuffersAreFoundByName) {
  ProgramBuilder b;
  b.tensor(named(at(0), "module.counter"));
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  const auto attribute = method->get_attribute("module.counter");
  ASSERT_TRUE(attribute.ok());
  EXPECT_EQ(attribute->const_data_ptr(), arena());
  EXPECT_EQ(method->get_attribute("module").error(), Error::NotFound);
  const auto meta = method->method_meta();
  ASSERT_EQ(meta.num_attributes(), 1u);
  EXPECT_EQ(meta.attribute_tensor_meta(0)->name(), "module.counter");
}

TEST_F(MethodDataTest, BuffersWithoutPlannedMemoryAreFoundAndTakeTheCallersData) {
  ProgramBuilder b;
  b.constants = {bytes_of({5, 6})};
  TensorSpec constant = named(unplanned(), "weight");
  constant.data_buffer_idx = 1;
  b.tensor(constant);
  const int32_t state = b.tensor(named(unplanned(), "state"));
  const int32_t out = b.tensor(at(0));
  b.outputs = {out};
  b.call(b.op("test::add", "out"), {state, state, out, out});
  auto method = load(b);
  ASSERT_TRUE(method.ok()) << log();
  EXPECT_EQ(method->get_attribute("weight").error(), Error::NotFound) << "a constant is not to be written";
  ASSERT_EQ(method->method_meta().num_attributes(), 1u);
  EXPECT_FALSE(method->method_meta().attribute_tensor_meta(0)->is_memory_planned());
  auto attribute = method->get_attribute("state");
  ASSERT_TRUE(attribute.ok());
  EXPECT_EQ(attribute->const_data_ptr(), nullptr);
  EXPECT_EQ(method->execute(), Error::InvalidProgram) << "it has no data yet";
  float data[] = {1, -2};
  attribute->set_data(data);
  ASSERT_EQ(method->execute(), Error::Ok) << log();
  EXPECT_THAT(read(method->get_output(0)), ElementsAre(2, -4));
}

TEST_F(MethodDataTest, ExternalConstantsAreUsedInPlaceAndGivenBack) {
  ProgramBuilder b;
  use_external(b, unplanned());
  const FloatMap map({{"other", {{1}, {5}}}, {"weight", {{2}, {3, 4}}}});
  {
    auto method = load(b, &map);
    ASSERT_TRUE(method.ok()) << log();
    EXPECT_EQ(map.borrowed, 1);
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_THAT(read(method->get_output(0)), ElementsAre(6, 8));
  }
  EXPECT_EQ(map.borrowed, 0);
}

TEST_F(MethodDataTest, ExternalStateIsCopiedIntoPlannedMemory) {
  ProgramBuilder b;
  use_external(b, at(16));
  const FloatMap map({{"weight", {{2}, {3, 4}}}});
  auto method = load(b, &map);
  ASSERT_TRUE(method.ok()) << log();
  EXPECT_EQ(map.borrowed, 0);
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_THAT(read(method->get_output(0)), ElementsAre(6, 8));
}

TEST_F(MethodDataTest, ExternalDataMustFit) {
  for (const bool planned : {false, true}) {
    ProgramBuilder b[5];
    for (auto& builder : b) {
      use_external(builder, planned ? at(16) : unplanned());
    }
    refuses(b[0], nullptr,
            planned ? "The program expects 'weight' in another file: load it together with its .ptd"
                    : "Method 'forward' has 1 constants in another file: load it together with its .ptd");
    const FloatMap other({{"bias", {{2}, {3, 4}}}});
    refuses(b[1], &other, "The external data has no 'weight'", Error::NotFound);
    const FloatMap dtype({{"weight", {{2}, {3, 4}, ScalarType::Int}}});
    refuses(b[2], &dtype, "'weight' has dtype Int in the external data, the program expects Float");
    const FloatMap rank({{"weight", {{1, 2}, {3, 4}}}});
    refuses(b[3], &rank, "'weight' has 2 dimensions in the external data, the program expects 1");
    const FloatMap size({{"weight", {{3}, {3, 4, 5}}}});
    refuses(b[4], &size, "'weight' has size 3 in dimension 0 of the external data, the program expects 2");
  }
}

TEST_F(MethodDataTest, MergedMapsFindWhatEitherHas) {
  const FloatMap first({{"a", {{1}, {1}}}, {"b", {{1}, {2}}}});
  const FloatMap second({{"c", {{1}, {3}}}});
  const auto merged = MergedDataMap::load(&first, &second);
  ASSERT_TRUE(merged.ok());
  ASSERT_EQ(*merged->get_num_keys(), 3u);
  EXPECT_STREQ(*merged->get_key(0), "a");
  EXPECT_STREQ(*merged->get_key(2), "c");
  EXPECT_EQ(merged->get_key(3).error(), Error::InvalidArgument);
  float value = 0;
  for (const auto& [key, expected] : {std::make_pair("a", 1.0f), std::make_pair("c", 3.0f)}) {
    ASSERT_EQ(merged->load_data_into(key, &value, sizeof(value)), Error::Ok);
    EXPECT_EQ(value, expected);
    const auto data = merged->get_data(key);
    ASSERT_TRUE(data.ok());
    EXPECT_EQ(*static_cast<const float*>(data->data()), expected);
    ASSERT_TRUE(merged->get_tensor_layout(key).ok());
    EXPECT_EQ(merged->get_tensor_layout(key)->nbytes(), sizeof(float));
  }
  EXPECT_EQ(merged->get_data("d").error(), Error::NotFound);
  EXPECT_EQ(merged->get_tensor_layout("d").error(), Error::NotFound);
  EXPECT_EQ(merged->load_data_into("d", &value, sizeof(value)), Error::NotFound);

  EXPECT_EQ(MergedDataMap::load(&first, nullptr).error(), Error::InvalidArgument);
  const FloatMap same({{"b", {{1}, {2}}}});
  logged.clear();
  EXPECT_EQ(MergedDataMap::load(&first, &same).error(), Error::InvalidArgument);
  EXPECT_THAT(logged,
              ElementsAre("The named data 'b' is in two of the program and its data files; remove it from one"));
}

TEST_F(MethodDataTest, NamedDataOfTheProgramIsReadFromItsSegment) {
  ProgramBuilder b;
  b.segments = {{'a', 'b', 'c'}, {'d'}};
  b.named_data = {{"first", 0}, {"second", 1}};
  ASSERT_TRUE(load(b).ok()) << log();
  const auto found = program().get_named_data_map();
  ASSERT_TRUE(found.ok());
  const NamedDataMap& map = **found;
  EXPECT_EQ(*map.get_num_keys(), 2u);
  EXPECT_STREQ(*map.get_key(1), "second");
  EXPECT_EQ(map.get_key(2).error(), Error::InvalidArgument);
  const auto data = map.get_data("first");
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(std::string(static_cast<const char*>(data->data()), data->size()), "abc");
  char two[2] = {};
  ASSERT_EQ(map.load_data_into("first", two, 2), Error::Ok);
  EXPECT_EQ(std::string(two, 2), "ab");
  EXPECT_EQ(map.load_data_into("second", two, 2), Error::InvalidArgument);
  EXPECT_EQ(map.get_data("third").error(), Error::NotFound);
  EXPECT_EQ(map.get_tensor_layout("first").error(), Error::NotImplemented) << "bytes without a shape";

  ProgramBuilder twice;
  twice.segments = {{'a'}};
  twice.named_data = {{"same", 0}, {"same", 0}};
  EXPECT_EQ(load(twice).error(), Error::InvalidProgram);
  ProgramBuilder outside;
  outside.segments = {{'a'}};
  outside.named_data = {{"far", 1}};
  EXPECT_EQ(load(outside).error(), Error::InvalidProgram);
}

}  // namespace
