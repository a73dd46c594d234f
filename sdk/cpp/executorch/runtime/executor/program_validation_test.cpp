// SPDX-License-Identifier: BSD-3-Clause
#include <functional>

#include <gtest/gtest.h>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/executor/program_validation.h>
#include <executorch/runtime/executor/test/program_builder.h>
#include <executorch/runtime/platform/runtime.h>

using executorch::extension::BufferDataLoader;
using executorch::extension::MallocMemoryAllocator;
using executorch::runtime::Error;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::MemoryManager;
using executorch::runtime::Program;
using executorch::runtime::ResourceLimits;
using executorch::runtime::Span;
using executorch::runtime::testing::ProgramBuilder;
using executorch::runtime::testing::ProgramBytes;
using executorch::runtime::testing::TensorSpec;
namespace fb = executorch_flatbuffer;

namespace {

class ProgramValidationTest : public ::testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }

  /// The error of loading a program that `build` adds to, and its first method.
  Error load(const std::function<void(ProgramBuilder&)>& build) {
    ProgramBuilder builder;
    build(builder);
    const ProgramBytes bytes = builder.finish();
    BufferDataLoader loader(bytes.data(), bytes.size());
    const auto program = Program::load(&loader);
    const Error error = program.ok() ? load_method(*program) : program.error();
    // validate_program() must come to the same result.
    EXPECT_TRUE(!program.ok() || executorch::runtime::validate_program(fb::GetProgram(bytes.data())) == error);
    return error;
  }

  /// Validation must not depend on kernels and other files, which are missing here.
  static Error load_method(const Program& program) {
    static uint8_t planned[256];
    Span<uint8_t> buffers[] = {Span<uint8_t>(planned)};
    HierarchicalAllocator planned_memory(Span<Span<uint8_t>>(buffers, 1));
    MallocMemoryAllocator method_allocator;
    MemoryManager memory(&method_allocator, &planned_memory);
    const auto name = program.get_method_name(0);
    EXPECT_TRUE(name.ok());
    const Error error = program.load_method(*name, &memory).error();
    return error == Error::OperatorMissing || error == Error::InvalidExternalData ? Error::Ok : error;
  }

  Error load_tensor(const TensorSpec& spec) {
    return load([&](ProgramBuilder& builder) { builder.tensor(spec); });
  }
};

TEST_F(ProgramValidationTest, WellFormedProgramsLoad) {
  EXPECT_EQ(load([](ProgramBuilder&) {}), Error::Ok);
  EXPECT_EQ(load([](ProgramBuilder& b) {
              const int32_t a = b.tensor({{2, 3}});
              const int32_t i = b.integer(1);
              const int32_t flag = b.boolean(true);
              b.int_list({i, i});
              b.tensor_list({a});
              b.optional_tensor_list({-1, a, b.null()});
              b.bool_list({0, 1});
              b.inputs = {a};
              b.outputs = {a, i};
              b.jump_false(flag, 2);
              b.move(a, a);
            }),
            Error::Ok);
}

TEST_F(ProgramValidationTest, TensorLayoutsAreChecked) {
  EXPECT_EQ(load_tensor({{2, 3}}), Error::Ok);
  EXPECT_EQ(load_tensor({{}}), Error::Ok);
  EXPECT_EQ(load_tensor({{2, -1}}), Error::InvalidProgram);
  EXPECT_EQ(load_tensor({std::vector<int32_t>(17, 1)}), Error::InvalidProgram);
  TensorSpec spec{{2, 3}};
  for (const auto& dim_order : std::vector<std::vector<uint8_t>>{{0, 0}, {0, 2}, {1}, {0, 1, 2}, {255, 0}}) {
    spec.dim_order = dim_order;
    EXPECT_EQ(load_tensor(spec), Error::InvalidProgram);
  }
  spec.dim_order = {1, 0};
  EXPECT_EQ(load_tensor(spec), Error::Ok);
  for (const int type : {-1, 14 + 4, 30, 127}) {
    spec.type = static_cast<fb::ScalarType>(type);
    EXPECT_EQ(load_tensor(spec), Error::InvalidProgram) << type;
  }
  // complex32 fits where float32 did; complex64 takes twice the memory.
  spec.planned = false;
  for (const int type : {8, 9, 10}) {
    spec.type = static_cast<fb::ScalarType>(type);
    EXPECT_EQ(load_tensor(spec), Error::Ok) << type;
  }
  TensorSpec dynamism{{2}};
  dynamism.dynamism = static_cast<fb::TensorShapeDynamism>(3);
  EXPECT_EQ(load_tensor(dynamism), Error::InvalidProgram);
}

// With InternalConsistency, the contents of methods are checked when the program is loaded, not with each method.
TEST_F(ProgramValidationTest, TheContentsOfMethodsAreValidatedWithTheProgram) {
  TensorSpec huge;
  huge.planned = false;
  huge.sizes = {INT32_MAX, INT32_MAX, INT32_MAX};
  const std::vector<std::function<void(ProgramBuilder&)>> damages = {
      [&](ProgramBuilder& b) { b.tensor(huge); },
      [](ProgramBuilder& b) { b.tensor({{2, -1}}); },
      [](ProgramBuilder& b) { b.tensor_list({b.integer(1)}); },
      [](ProgramBuilder& b) { b.tensor_list({7}); },
      [](ProgramBuilder& b) { b.int_list({-1}); },
      [](ProgramBuilder& b) { b.jump_false(b.boolean(true), 9); },
  };
  for (size_t i = 0; i < damages.size(); ++i) {
    ProgramBuilder builder;
    damages[i](builder);
    const ProgramBytes bytes = builder.finish();
    BufferDataLoader loader(bytes.data(), bytes.size());
    EXPECT_EQ(Program::load(&loader, Program::Verification::InternalConsistency).error(), Error::InvalidProgram) << i;
    const auto minimal = Program::load(&loader, Program::Verification::Minimal);
    ASSERT_TRUE(minimal.ok()) << i;
    EXPECT_EQ(load_method(*minimal), Error::InvalidProgram) << i;
  }
}

TEST_F(ProgramValidationTest, SizesThatOverflowAreRefused) {
  TensorSpec spec;
  spec.planned = false;
  // 2^31 - 1 in each of three dimensions: more bytes than 64 bits count.
  spec.sizes = {INT32_MAX, INT32_MAX, INT32_MAX};
  EXPECT_EQ(load_tensor(spec), Error::InvalidProgram);
  // The product is 2^64, which wraps to 0.
  spec.sizes = {1 << 16, 1 << 16, 1 << 16, 1 << 16};
  EXPECT_EQ(load_tensor(spec), Error::InvalidProgram);
  // No elements, but strides that do not fit 32 bits.
  spec.sizes = {0, 1 << 20, 1 << 20};
  EXPECT_EQ(load_tensor(spec), Error::InvalidProgram);
}

TEST_F(ProgramValidationTest, PlannedMemoryIsChecked) {
  // 256 bytes in buffer 1.
  TensorSpec spec{{64}};
  EXPECT_EQ(load_tensor(spec), Error::Ok);
  spec.offset = 4;
  EXPECT_EQ(load_tensor(spec), Error::InvalidProgram);
  spec.offset = 0;
  spec.offset_high = 1;
  EXPECT_EQ(load_tensor(spec), Error::InvalidProgram);
  spec.offset = UINT32_MAX;
  spec.offset_high = UINT32_MAX;
  EXPECT_EQ(load_tensor(spec), Error::InvalidProgram);
  for (const uint32_t id : {0u, 2u, UINT32_MAX}) {
    TensorSpec other{{1}};
    other.memory_id = id;
    EXPECT_EQ(load_tensor(other), Error::InvalidProgram) << id;
  }
  EXPECT_EQ(load([](ProgramBuilder& b) { b.planned_sizes = {0, -1}; }), Error::InvalidProgram);
  EXPECT_EQ(load([](ProgramBuilder& b) { b.planned_sizes = {0, INT64_MAX, INT64_MAX}; }), Error::InvalidProgram);
}

TEST_F(ProgramValidationTest, ConstantsAreChecked) {
  const auto load_constant = [this](uint32_t index, size_t bytes) {
    return load([&](ProgramBuilder& b) {
      b.constants = {std::vector<uint8_t>(bytes)};
      TensorSpec spec{{4}};
      spec.planned = false;
      spec.data_buffer_idx = index;
      b.tensor(spec);
    });
  };
  EXPECT_EQ(load_constant(1, 16), Error::Ok);
  EXPECT_EQ(load_constant(1, 15), Error::InvalidProgram);
  EXPECT_EQ(load_constant(2, 16), Error::InvalidProgram);
  EXPECT_EQ(load_constant(UINT32_MAX, 16), Error::InvalidProgram);
  TensorSpec initial{{4}};
  initial.data_buffer_idx = 1;
  EXPECT_EQ(load_tensor(initial), Error::InvalidProgram) << "there is no mutable data segment";
  TensorSpec external{{4}};
  external.location = fb::TensorDataLocation::EXTERNAL;
  external.name = "weight";
  EXPECT_EQ(load_tensor(external), Error::Ok);
  external.location = static_cast<fb::TensorDataLocation>(2);
  EXPECT_EQ(load_tensor(external), Error::InvalidProgram);
}

TEST_F(ProgramValidationTest, ListsMayOnlyHoldWhatTheyPromise) {
  const auto cases = std::vector<std::function<void(ProgramBuilder&)>>{
      [](ProgramBuilder& b) { b.int_list({0}); },  // itself
      [](ProgramBuilder& b) { b.int_list({-1}); },
      [](ProgramBuilder& b) { b.int_list({int64_t{1} << 32}); },
      [](ProgramBuilder& b) { b.int_list({b.boolean(true)}); },
      [](ProgramBuilder& b) { b.tensor_list({b.integer(1)}); },
      [](ProgramBuilder& b) { b.tensor_list({-1}); },
      [](ProgramBuilder& b) { b.optional_tensor_list({-2}); },
      [](ProgramBuilder& b) { b.optional_tensor_list({b.integer(1)}); },
      [](ProgramBuilder& b) { b.bool_list({0, 2}); },
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(load(cases[i]), Error::InvalidProgram) << "case " << i;
  }
}

TEST_F(ProgramValidationTest, ValuesOfUnknownTypesAreRefused) {
  for (const int type : {0, 12, 255}) {
    EXPECT_EQ(load([&](ProgramBuilder& b) {
                const int32_t table = b.null();
                (void)table;
                b.value(static_cast<fb::KernelTypes>(type), flatbuffers::Offset<void>());
              }),
              Error::InvalidProgram)
        << type;
  }
  EXPECT_EQ(load([](ProgramBuilder& b) { b.value(fb::KernelTypes::Tensor, flatbuffers::Offset<void>()); }),
            Error::InvalidProgram);
}

TEST_F(ProgramValidationTest, InstructionsAreChecked) {
  const auto cases = std::vector<std::function<void(ProgramBuilder&)>>{
      [](ProgramBuilder& b) { b.call(0, {}); },  // no operators
      [](ProgramBuilder& b) { b.call(b.op("aten::add", "out") + 1, {}); },
      [](ProgramBuilder& b) { b.call(b.op("aten::add", "out") - 1, {}); },
      [](ProgramBuilder& b) { b.call(b.op("aten::add", "out"), {0}); },  // no values
      [](ProgramBuilder& b) { b.call(b.op("aten::add", "out"), {-1}); },
      [](ProgramBuilder& b) { b.op("", "out"); },
      [](ProgramBuilder& b) { b.op(std::string(300, 'a'), "out"); },
      [](ProgramBuilder& b) { b.call_delegate(0, {}); },
      [](ProgramBuilder& b) { b.backend("SomeBackend", 0); },  // no inline data
      [](ProgramBuilder& b) { b.move(b.integer(1), 5); },
      [](ProgramBuilder& b) { b.move(b.integer(1), b.tensor({{1}})); },
      [](ProgramBuilder& b) { b.jump_false(b.boolean(true), 2); },
      [](ProgramBuilder& b) { b.jump_false(b.boolean(true), -1); },
      [](ProgramBuilder& b) { b.jump_false(b.tensor({{1}}), 0); },  // a float
      [](ProgramBuilder& b) { b.free_value(b.integer(1)); },
      [](ProgramBuilder& b) { b.inputs = {0}; },
      [](ProgramBuilder& b) { b.outputs = {-1}; },
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(load(cases[i]), Error::InvalidProgram) << "case " << i;
  }
}

TEST_F(ProgramValidationTest, MethodNamesAreUnique) {
  EXPECT_EQ(load([](ProgramBuilder& b) { b.names = {"encode", "decode"}; }), Error::Ok);
  EXPECT_EQ(load([](ProgramBuilder& b) { b.names = {"encode", "decode", "encode"}; }), Error::InvalidProgram);
  EXPECT_EQ(load([](ProgramBuilder& b) { b.names = {}; }), Error::InvalidProgram);
  // More than one pass of the search.
  std::vector<std::string> many;
  for (int i = 0; i < 1000; ++i) {
    many.push_back("method" + std::to_string(i));
  }
  EXPECT_EQ(load([&](ProgramBuilder& b) { b.names = many; }), Error::Ok);
  many.push_back("method500");
  EXPECT_EQ(load([&](ProgramBuilder& b) { b.names = many; }), Error::InvalidProgram);
}

TEST_F(ProgramValidationTest, FilesThatAreNoProgramsAreRefused) {
  ProgramBuilder builder;
  const ProgramBytes bytes = builder.finish();
  const auto load_changed = [&](size_t size, size_t position, uint8_t value) {
    ProgramBytes changed(bytes.data(), size);
    if (position < size) {
      changed.data()[position] = value;
    }
    BufferDataLoader loader(changed.data(), changed.size());
    return Program::load(&loader).error();
  };
  const size_t all = bytes.size();
  EXPECT_EQ(load_changed(all, all, 0), Error::Ok);
  EXPECT_EQ(load_changed(63, all, 0), Error::InvalidArgument);
  EXPECT_EQ(load_changed(0, all, 0), Error::InvalidArgument);
  EXPECT_EQ(load_changed(all, 4, 'X'), Error::InvalidProgram);
  EXPECT_EQ(load_changed(all, 7, '3'), Error::InvalidProgram);
  EXPECT_EQ(load_changed(all, 3, 0x7f), Error::InvalidProgram);
  EXPECT_EQ(Program::check_header(bytes.data(), all), Program::HeaderStatus::CompatibleVersion);
  EXPECT_EQ(Program::check_header(bytes.data(), 63), Program::HeaderStatus::ShortData);
  ProgramBytes other(bytes.data(), all);
  other.data()[7] = '3';
  EXPECT_EQ(Program::check_header(other.data(), all), Program::HeaderStatus::IncompatibleVersion);
  other.data()[4] = 'X';
  EXPECT_EQ(Program::check_header(other.data(), all), Program::HeaderStatus::NotPresent);
}

// Every build type must verify programs by default.
TEST_F(ProgramValidationTest, VerificationIsTheDefault) {
  ProgramBuilder builder;
  const ProgramBytes bytes = builder.finish();
  BufferDataLoader loader(bytes.data(), bytes.size());
  ResourceLimits limits;
  limits.table_depth = 1;  // only checked together with the structure
  EXPECT_EQ(Program::load(&loader, Program::Verification::InternalConsistency, limits).error(), Error::InvalidProgram);
  EXPECT_TRUE(Program::load(&loader, Program::Verification::Minimal, limits).ok());
}

// The references of a method are checked when it is loaded, even without verification of the structure.
TEST_F(ProgramValidationTest, MethodsAreCheckedWhenTheyAreLoaded) {
  ProgramBuilder builder;
  builder.outputs = {7};
  const ProgramBytes bytes = builder.finish();
  BufferDataLoader loader(bytes.data(), bytes.size());
  EXPECT_EQ(Program::load(&loader, Program::Verification::InternalConsistency).error(), Error::InvalidProgram);
  const auto program = Program::load(&loader, Program::Verification::Minimal);
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(load_method(*program), Error::InvalidProgram);
  EXPECT_EQ(program->method_meta("forward")->output_tag(0).error(), Error::InvalidProgram);
}

// Even without the check of methods' parts, load() reads nothing outside the file, for every value of the offset to the
// root and of every other word of the file.
TEST_F(ProgramValidationTest, MinimalVerificationRefusesOffsetsOutOfTheFile) {
  ProgramBuilder builder;
  const ProgramBytes bytes = builder.finish();
  const auto load = [](const ProgramBytes& program) {
    BufferDataLoader loader(program.data(), program.size());
    return Program::load(&loader, Program::Verification::Minimal).error();
  };
  ASSERT_EQ(load(bytes), Error::Ok);
  const auto size = static_cast<uint32_t>(bytes.size());
  for (const uint32_t root : {0u, 1u, 3u, size - 4, size - 1, size, size + 1, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
    ProgramBytes damaged(bytes.data(), bytes.size());
    std::memcpy(damaged.data(), &root, sizeof(root));
    EXPECT_EQ(load(damaged), Error::InvalidProgram) << "root at " << root;
  }
  for (uint32_t root = 4; root < size; root += 4) {
    ProgramBytes damaged(bytes.data(), bytes.size());
    std::memcpy(damaged.data(), &root, sizeof(root));
    (void)load(damaged);  // whether it is accepted depends on the bytes there; ASan checks what is read
  }
  for (size_t at = 8; at + 4 <= bytes.size(); at += 4) {
    for (const uint32_t word : {0u, 4u, 0x7ffffff0u, 0xfffffff0u}) {
      ProgramBytes damaged(bytes.data(), bytes.size());
      std::memcpy(damaged.data() + at, &word, sizeof(word));
      (void)load(damaged);
    }
  }
}

TEST_F(ProgramValidationTest, DynamicSizesAreOfDimensionsOfInputs) {
  const auto with = [&](const std::vector<int32_t>& numbers) {
    return load([&](ProgramBuilder& b) {
      TensorSpec spec{{4, 2}};
      spec.dynamism = fb::TensorShapeDynamism::DYNAMIC_BOUND;
      b.inputs = {b.tensor(spec), b.integer(1)};
      b.dynamic_sizes = numbers;
    });
  };
  EXPECT_EQ(with({}), Error::Ok);
  EXPECT_EQ(with({0, 0, 1, 1, 0, 0}), Error::Ok);
  EXPECT_EQ(with({0, 0, 0, 1 << 30, -(1 << 30), 0, 0, 1, 9, 1, 1 << 30, 0}), Error::Ok);
  const std::vector<std::vector<int32_t>> damaged = {
      {0, 0, 1, 1, 0},                               // not six numbers
      {1, 0, 1, 1, 0, 0},                            // no tensor
      {2, 0, 1, 1, 0, 0},                            // no input
      {-1, 0, 1, 1, 0, 0},                           //
      {0, 2, 1, 1, 0, 0},                            // no dimension
      {0, -1, 1, 1, 0, 0},                           //
      {0, 0, -1, 1, 0, 0},                           // a negative size
      {0, 0, 1, 0, 0, 0},                            // a factor of 0
      {0, 0, 1, -1, 0, 0},                           //
      {0, 0, 1, (1 << 30) + 1, 0, 0},                // products that overflow
      {0, 0, 1, 1, (1 << 30) + 1, 0},                //
      {0, 0, 1, 1, INT32_MIN, 0},                    //
      {0, 0, 1, 1, 0, 1},                            // a later entry
      {0, 0, 1, 1, 0, -1},                           //
      {0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0},          // twice
      {0, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0},          // out of order
      {0, 0, 1, 1, 0, 0, INT32_MAX, 0, 1, 1, 0, 0},  //
  };
  for (size_t i = 0; i < damaged.size(); ++i) {
    EXPECT_EQ(with(damaged[i]), Error::InvalidProgram) << "case " << i;
  }
}

TEST_F(ProgramValidationTest, SharedStateIsInAPlannedBufferOnTheCpu) {
  const auto with = [&](uint32_t id, fb::DeviceType device) {
    return load([&](ProgramBuilder& b) {
      b.planned_sizes = {0, 256};
      b.planned_devices = {{1, device}};
      b.shared_buffer = id;
      b.names = {"forward", "again"};
    });
  };
  EXPECT_EQ(with(0, fb::DeviceType::CPU), Error::Ok);
  EXPECT_EQ(with(1, fb::DeviceType::CPU), Error::Ok);
  EXPECT_EQ(with(2, fb::DeviceType::CPU), Error::InvalidProgram);
  EXPECT_EQ(with(UINT32_MAX, fb::DeviceType::CPU), Error::InvalidProgram);
  EXPECT_EQ(with(1, fb::DeviceType::CUDA), Error::InvalidProgram);
}

}  // namespace
