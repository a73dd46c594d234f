// SPDX-License-Identifier: BSD-3-Clause
// A fixture for tests of delegates over the stand-in of a vendor's library, and a reference payload.
#pragma once

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/platform/runtime.h>

#include "faults.h"

namespace executorch::extension::delegate {

/// Numbers in sequence, little-endian.
class Bytes {
 public:
  template <typename T>
  Bytes& add(T number) {
    text_.append(reinterpret_cast<const char*>(&number), sizeof(T));
    return *this;
  }
  Bytes& add_text(const std::string& text) {
    add<uint16_t>(static_cast<uint16_t>(text.size()));
    text_ += text;
    return *this;
  }
  Bytes& add_raw(const std::string& text) {
    text_ += text;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// The reference payload of a + b with two floats each; with a key, b is a constant of the named data.
inline std::string reference_sum(const std::string& key = "") {
  Bytes bytes;
  bytes.add_raw("NPUREF01").add_text(key);
  const bool shares = !key.empty();
  bytes.add<uint32_t>(3).add<uint32_t>(1).add<uint32_t>(shares ? 1 : 2).add<uint32_t>(1);
  for (int value = 0; value < 3; ++value) {
    const bool is_constant = shares && value == 1;
    bytes.add<uint8_t>(7).add<uint8_t>(1).add<uint8_t>(is_constant ? 2 : 0).add<uint32_t>(2);
    if (is_constant) {
      bytes.add<uint64_t>(0).add<uint64_t>(8);
    }
  }
  bytes.add_text("aten.add.Tensor").add<uint8_t>(0).add<double>(0).add<double>(0);
  bytes.add<uint8_t>(5).add<uint32_t>(3);
  bytes.add<uint8_t>(4).add<uint32_t>(0).add<uint8_t>(4).add<uint32_t>(1).add<uint8_t>(2).add<int64_t>(1);
  bytes.add<uint32_t>(1).add<uint32_t>(2);
  bytes.add<uint32_t>(0);
  if (!shares) {
    bytes.add<uint32_t>(1);
  }
  bytes.add<uint32_t>(2).add_raw(std::string(16, '\0'));
  return bytes.text();
}

/**
 * Passes 20,000 damaged copies of `good` to `reads`, which returns whether it accepts the copy, and expects it to
 * accept between 1,000 and 19,000. Only the first `header` bytes change. Each copy has exactly its size in memory, so
 * that the address sanitizer detects reads beyond its end.
 */
template <typename Reads>
void read_damaged(const std::string& good, size_t header, Reads reads) {
  runtime::runtime_init();
  std::mt19937 random(1);
  int accepted = 0;
  testing::internal::CaptureStderr();
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good.substr(0, random() % 4 == 0 ? random() % (good.size() + 1) : good.size());
    for (size_t change = random() % 3; change > 0 && !bytes.empty(); --change) {
      bytes[random() % std::min(bytes.size(), header)] = static_cast<char>(random());
    }
    const std::unique_ptr<char[]> exact(new char[bytes.size()]);
    std::copy(bytes.begin(), bytes.end(), exact.get());
    accepted += reads(exact.get(), bytes.size()) ? 1 : 0;
  }
  testing::internal::GetCapturedStderr();
  EXPECT_GT(accepted, 1000);
  EXPECT_LT(accepted, 19000);
}

class StandInTest : public testing::Test {
 protected:
  /// The stand-in's path, the variable that makes the delegate open it, and the name of the backend.
  StandInTest(const char* library, const char* variable, const char* backend)
      : path_(library), variable_(variable), key_(backend) {}

  void SetUp() override {
    runtime::runtime_init();
    setenv(variable_, path_, 1);
    backend_ = runtime::get_backend_class(key_);
    ASSERT_NE(backend_, nullptr);
    library_ = dlopen(path_, RTLD_NOW);
    ASSERT_NE(library_, nullptr) << dlerror();
    fail_at_ = function<void (*)(int)>("stand_in_fail_at");
    calls_ = function<int (*)()>("stand_in_calls");
    living_ = function<int (*)()>("stand_in_living");
    fail_at_(0);
  }
  void TearDown() override { EXPECT_EQ(living_(), 0); }

  template <typename Function>
  Function function(const char* name) const {
    return reinterpret_cast<Function>(dlsym(library_, name));
  }

  /// `memory`: the method's; null for memory of the fixture.
  runtime::Result<runtime::DelegateHandle*> load(const std::string& payload,
                                                 const std::vector<runtime::CompileSpec>& specs = {},
                                                 const runtime::NamedDataMap* data = nullptr,
                                                 runtime::MemoryAllocator* memory = nullptr,
                                                 const char* method = "forward") {
    payloads_.push_back(std::make_unique<std::string>(payload));
    memory_.push_back(std::make_unique<std::vector<uint8_t>>(4096));
    runtime::MemoryAllocator allocator(static_cast<uint32_t>(memory_.back()->size()), memory_.back()->data());
    runtime::BackendInitContext context(memory != nullptr ? memory : &allocator, nullptr, method, data);
    runtime::FreeableBuffer buffer(payloads_.back()->data(), payloads_.back()->size(), nullptr);
    return backend_->init(context, &buffer, {specs.data(), specs.size()});
  }

  runtime::Error run(runtime::DelegateHandle* handle, std::vector<aten::Tensor> tensors,
                     runtime::MemoryAllocator* memory = nullptr) {
    std::vector<runtime::EValue> values(tensors.begin(), tensors.end());
    std::vector<runtime::EValue*> args;
    for (runtime::EValue& value : values) {
      args.push_back(&value);
    }
    runtime::BackendExecutionContext context(nullptr, memory);
    return backend_->execute(context, handle, {args.data(), args.size()});
  }

  /// Checks that is_available() is false, and returns what it logged.
  std::string why_unavailable() const {
    testing::internal::CaptureStderr();
    EXPECT_FALSE(backend_->is_available());
    return testing::internal::GetCapturedStderr();
  }

  /// Checks the message on a device without the library: one line with its path and the page that has the remedy.
  void expect_missing_library(const char* path, const char* page, const std::string& payload) {
    setenv(variable_, path, 1);
    const std::string line = why_unavailable();
    EXPECT_THAT(line, testing::AllOf(testing::HasSubstr(path), testing::HasSubstr(page)));
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
    EXPECT_EQ(load(payload).error(), runtime::Error::NotFound);
  }

  /// Checks that a different library is refused, because it lacks the first function.
  void expect_other_library(const char* function) const {
    setenv(variable_, "libm.so.6", 1);
    EXPECT_THAT(why_unavailable(), testing::HasSubstr(std::string("lacks ") + function));
  }

  /// Runs a payload that adds numbers on several threads, each with its own delegate, and destroys the delegates there.
  void add_in_threads(const std::string& payload) {
    std::vector<runtime::DelegateHandle*> handles;
    for (int i = 0; i < 3; ++i) {
      const auto handle = load(payload);
      ASSERT_EQ(handle.error(), runtime::Error::Ok);
      handles.push_back(*handle);
    }
    std::vector<std::thread> threads;
    for (runtime::DelegateHandle* const handle : handles) {
      threads.emplace_back([this, handle] {
        runtime::testing::TensorFactory<aten::ScalarType::Float> floats;
        aten::Tensor sum = floats.zeros({2});
        for (int call = 0; call < 20; ++call) {
          EXPECT_EQ(run(handle, {floats.ones({2}), floats.ones({2}), sum}), runtime::Error::Ok);
          EXPECT_EQ(first(sum), 2);
        }
        backend_->destroy(handle);
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }

  /// Lets each allocation of a load and a run fail in turn. `payload` adds numbers. Expects MemoryAllocationFailed,
  /// then a correct sum from the same delegate, and no leaked object of the library.
  void fail_every_allocation(std::string payload) {
    aten::Tensor ones = floats_.ones({2}), sum = floats_.zeros({2});
    runtime::EValue values[] = {ones, ones, sum};
    runtime::EValue* args[] = {&values[0], &values[1], &values[2]};
    std::vector<uint8_t> memory(4096);
    size_t n = 0;
    for (bool met = true; met; ++n) {
      runtime::MemoryAllocator allocator(static_cast<uint32_t>(memory.size()), memory.data());
      runtime::BackendInitContext loading(&allocator, nullptr, "forward", nullptr);
      runtime::BackendExecutionContext running;
      runtime::FreeableBuffer buffer(payload.data(), payload.size(), nullptr);
      faults::arm(faults::Kind::kAllocation, n);
      const auto handle = backend_->init(loading, &buffer, {});
      const runtime::Error error = handle.ok() ? backend_->execute(running, *handle, {args, 3}) : handle.error();
      met = faults::disarm();
      EXPECT_TRUE(error == runtime::Error::Ok || (met && error == runtime::Error::MemoryAllocationFailed))
          << "allocation " << n << ": " << runtime::error_name(error);
      if (handle.ok()) {
        EXPECT_EQ(backend_->execute(running, *handle, {args, 3}), runtime::Error::Ok) << "after allocation " << n;
        EXPECT_EQ(first(sum), 2) << "after allocation " << n;
        backend_->destroy(*handle);
      }
      EXPECT_EQ(living_(), 0) << "allocation " << n;
    }
    EXPECT_GT(n, 5u);
  }

  /// A function of the library whose call failed, and the result of the load and the run.
  struct FailedCall {
    std::string function;
    runtime::Error error;
  };

  /// Lets each call of a load, a run and a destruction fail in turn. `payload` adds numbers. Expects a log line with
  /// `says`, then a run that succeeds, and no leaked object of the library. Functions begin with `prefix`.
  std::vector<FailedCall> fail_every_call(const std::string& payload, const std::string& prefix,
                                          const std::string& says) {
    aten::Tensor sum = floats_.zeros({2});
    std::vector<FailedCall> failed;
    for (int call = 1; call < 100; ++call) {
      fail_at_(call);
      testing::internal::CaptureStderr();
      auto handle = load(payload);
      runtime::Error error = handle.error();
      if (handle.ok()) {
        error = run(*handle, {floats_.ones({2}), floats_.ones({2}), sum});
        if (error != runtime::Error::Ok) {
          EXPECT_EQ(run(*handle, {floats_.ones({2}), floats_.ones({2}), sum}), runtime::Error::Ok) << call;
        }
        backend_->destroy(*handle);
      }
      const std::string said = testing::internal::GetCapturedStderr();
      EXPECT_EQ(living_(), 0) << call;
      if (said.empty()) {
        break;
      }
      EXPECT_THAT(said, testing::HasSubstr(says)) << call;
      const size_t begin = std::min(said.find(prefix), said.size());
      failed.push_back({said.substr(begin, said.find(' ', begin) - begin), error});
    }
    return failed;
  }

  static float first(const aten::Tensor& tensor) { return tensor.const_data_ptr<float>()[0]; }

  runtime::BackendInterface* backend_ = nullptr;
  runtime::testing::TensorFactory<aten::ScalarType::Float> floats_;
  void (*fail_at_)(int) = nullptr;
  int (*calls_)() = nullptr;
  int (*living_)() = nullptr;

 private:
  const char* path_;
  const char* variable_;
  const char* key_;
  void* library_ = nullptr;
  std::vector<std::unique_ptr<std::string>> payloads_;
  std::vector<std::unique_ptr<std::vector<uint8_t>>> memory_;
};

}  // namespace executorch::extension::delegate
