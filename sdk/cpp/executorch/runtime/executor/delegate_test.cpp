// SPDX-License-Identifier: BSD-3-Clause
// The arguments of a backend, and the effect of its failure.
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/executor/test/backend_fixture.h>

using executorch::runtime::BackendOptions;
using executorch::runtime::LoadBackendOptionsMap;
using namespace executorch::runtime::testing;  // NOLINT: test helpers
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

/// Adds the first float of its payload to every element of its input.
class AddBackend final : public CountingBackend {
 public:
  bool is_available() const override { return available; }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec> compile_specs) const override {
    specs.clear();
    for (const auto& spec : compile_specs) {
      specs.emplace_back(spec.key, std::string(static_cast<const char*>(spec.value.buffer), spec.value.nbytes));
    }
    threads = context.get_runtime_spec<int>("threads").ok() ? *context.get_runtime_spec<int>("threads") : -1;
    method = context.get_method_name();
    named = context.get_named_data_map() == nullptr ? "" : read_named(*context.get_named_data_map());
    if (processed->size() < sizeof(float)) {
      return Error::DelegateInvalidCompatibility;
    }
    auto* addend = context.get_runtime_allocator()->allocateInstance<float>();
    std::memcpy(addend, processed->data(), sizeof(float));
    processed->Free();
    ++alive;
    return addend;
  }

  Error execute(BackendExecutionContext& context, DelegateHandle* handle, Span<EValue*> args) const override {
    if (args.size() != 2 || context.get_temp_allocator() == nullptr) {
      return Error::InvalidArgument;
    }
    const auto& in = args[0]->toTensor();
    const auto& out = args[1]->toTensor();
    for (ssize_t i = 0; i < in.numel(); ++i) {
      out.mutable_data_ptr<float>()[i] = in.const_data_ptr<float>()[i] + *static_cast<float*>(handle);
    }
    return fails ? Error::DelegateInvalidHandle : Error::Ok;
  }

  bool available = true;
  bool fails = false;
  mutable int threads = -1;
  mutable std::string method;
  mutable std::string named;
  mutable std::vector<std::pair<std::string, std::string>> specs;

 private:
  static std::string read_named(const executorch::runtime::NamedDataMap& map) {
    const auto data = map.get_data("weights");
    return data.ok() ? std::string(static_cast<const char*>(data->data()), data->size()) : "absent";
  }
};

AddBackend backend;
const Error registered = executorch::runtime::register_backend({"AddBackend", &backend});

class DelegateTest : public BackendFixture<backend, registered> {
 protected:
  void SetUp() override {
    BackendFixture::SetUp();
    backend.available = true;
    backend.fails = false;
  }

  /// out = x + the number in the payload.
  static void call(ProgramBuilder& b, int32_t delegate) {
    const int32_t x = b.tensor(at(0));
    const int32_t out = b.tensor(at(16));
    b.inputs = {x};
    b.outputs = {out};
    b.call_delegate(delegate, {x, out});
  }

  void runs(ProgramBuilder& b, std::vector<float> expected) {
    auto method = load(b);
    ASSERT_TRUE(method.ok()) << log();
    EXPECT_EQ(backend.alive, 1);
    std::vector<float> data{1, 2};
    ASSERT_EQ(method->set_input(EValue(tensor(data, {2})), 0), Error::Ok);
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(read(method->get_output(0)), expected);
  }
};

// RTB-02 to RTB-04, RTB-07, RT-04, RTC-09: init, execute, destroy; the payload is freed in init.
TEST_F(DelegateTest, RunsOnItsInlinePayload) {
  ProgramBuilder b;
  b.payloads = {bytes_of({7}), bytes_of({10})};
  call(b, b.backend("AddBackend", 1));
  runs(b, {11, 12});
  EXPECT_EQ(backend.alive, 0) << "the method destroys its delegates";
  EXPECT_EQ(backend.method, "forward");
  EXPECT_EQ(backend.named, "");
}

TEST_F(DelegateTest, RunsOnAPayloadInASegmentWithSpecsAndNamedData) {
  ProgramBuilder b;
  b.segments = {{'a', 'b', 'c'}, bytes_of({20})};
  b.named_data = {{"weights", 0}};
  call(b, b.backend("AddBackend", 1, fb::DataLocation::SEGMENT, {{"precision", {'f', 'p'}}, {"empty", {}}}));
  runs(b, {21, 22});
  EXPECT_THAT(backend.specs, ElementsAre(std::make_pair(std::string("precision"), std::string("fp")),
                                         std::make_pair(std::string("empty"), std::string())));
  EXPECT_EQ(backend.named, "abc");
}

TEST_F(DelegateTest, OptionsReachTheBackendOfThatName) {
  ProgramBuilder b;
  b.payloads = {bytes_of({7})};
  call(b, b.backend("AddBackend"));
  BackendOptions<1> options;
  ASSERT_EQ(options.set_option("threads", 3), Error::Ok);
  LoadBackendOptionsMap map;
  ASSERT_EQ(map.set_options("OtherBackend", options.view()), Error::Ok);
  ASSERT_TRUE(load(b, nullptr, &map).ok());
  EXPECT_EQ(backend.threads, -1);
  ASSERT_EQ(map.set_options("AddBackend", options.view()), Error::Ok);
  ASSERT_TRUE(load_again(nullptr, &map).ok());
  EXPECT_EQ(backend.threads, 3);
}

TEST_F(DelegateTest, ARefusalNamesTheBackendAndUndoesTheOthers) {
  ProgramBuilder b;
  b.payloads = {bytes_of({7}), {1, 2}};
  b.backend("AddBackend", 0);
  call(b, b.backend("AddBackend", 1));
  EXPECT_EQ(load(b).error(), Error::DelegateInvalidCompatibility);
  EXPECT_THAT(logged, ElementsAre("Backend AddBackend refused its part of method 'forward', 2 bytes: "
                                  "DelegateInvalidCompatibility"));
  EXPECT_EQ(backend.alive, 0);
}

TEST_F(DelegateTest, AFailureWhileRunningNamesTheBackend) {
  ProgramBuilder b;
  b.payloads = {bytes_of({7})};
  call(b, b.backend("AddBackend"));
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  std::vector<float> data{1, 2};
  ASSERT_EQ(method->set_input(EValue(tensor(data, {2})), 0), Error::Ok);
  backend.fails = true;
  EXPECT_EQ(method->execute(), Error::DelegateInvalidHandle);
  EXPECT_THAT(logged, ElementsAre(HasSubstr("Backend AddBackend (instruction 0 of method 'forward') failed: "
                                            "DelegateInvalidHandle")));
  backend.fails = false;
  EXPECT_EQ(method->execute(), Error::Ok);
}

// RTB-10
TEST_F(DelegateTest, AllMissingBackendsAreNamedOnce) {
  ProgramBuilder b;
  b.payloads = {bytes_of({7})};
  b.backend("AbsentOne");
  b.backend("AddBackend");
  b.backend("AbsentTwo");
  call(b, b.backend("AbsentOne"));
  EXPECT_EQ(load(b).error(), Error::NotFound);
  EXPECT_THAT(logged, ElementsAre("Method 'forward' needs 2 backends that are not registered; link their libraries, or "
                                  "export without them: AbsentOne, AbsentTwo"));
  EXPECT_EQ(backend.alive, 0) << "no backend starts when one is missing";
}

// RTB-01
TEST_F(DelegateTest, ABackendMayBeUnavailableOnThisDevice) {
  ProgramBuilder b;
  b.payloads = {bytes_of({7})};
  call(b, b.backend("AddBackend"));
  backend.available = false;
  EXPECT_EQ(load(b).error(), Error::NotFound);
  EXPECT_THAT(logged, ElementsAre("Backend AddBackend is not available on this device: export without it"));
}

TEST_F(DelegateTest, PayloadsThatAreNotThereAreRefused) {
  ProgramBuilder none;
  call(none, none.backend("AddBackend", 0));
  EXPECT_EQ(load(none).error(), Error::InvalidProgram);
  ProgramBuilder segment;
  segment.segments = {bytes_of({1})};
  call(segment, segment.backend("AddBackend", 1, fb::DataLocation::SEGMENT));
  EXPECT_EQ(load(segment).error(), Error::InvalidProgram);
  EXPECT_THAT(log(), HasSubstr("the data of delegate 0 is in segment 1 of 1"));
}

}  // namespace
