// SPDX-License-Identifier: BSD-3-Clause
// Programs with every kind of part: they load, any allocation may fail meanwhile, and missing parts give an error.
#include <cstddef>
#include <string>
#include <vector>

#include <executorch/runtime/executor/program_validation.h>
#include <executorch/runtime/executor/test/backend_fixture.h>
#include <executorch/schema/extended_header.h>

using executorch::aten::Tensor;
using executorch::extension::BufferDataLoader;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::Kernel;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::MemoryManager;
using executorch::runtime::Program;
using namespace executorch::runtime::testing;  // NOLINT: test helpers
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

/// A backend that only counts its handles.
class IdleBackend final : public CountingBackend {
 public:
  Result<DelegateHandle*> init(BackendInitContext&, FreeableBuffer*, ArrayRef<CompileSpec>) const override {
    ++alive;
    return static_cast<DelegateHandle*>(const_cast<IdleBackend*>(this));
  }
  Error execute(BackendExecutionContext&, DelegateHandle*, Span<EValue*>) const override { return Error::Ok; }
};

IdleBackend backend;
const Error registered = executorch::runtime::register_backend({"IdleBackend", &backend});

/// An allocator that fails from allocation number `n` on.
class EndingAllocator final : public MemoryAllocator {
 public:
  EndingAllocator(Span<std::max_align_t> pool, size_t n)
      : MemoryAllocator(static_cast<uint32_t>(pool.size() * sizeof(std::max_align_t)),
                        reinterpret_cast<uint8_t*>(pool.data())),
        left_(n) {}

  void* allocate(size_t size, size_t alignment) override {
    if (left_ == 0) {
      return nullptr;
    }
    --left_;
    return MemoryAllocator::allocate(size, alignment);
  }
  bool ended() const { return left_ == 0; }

 private:
  size_t left_;
};

/// forward(x, y) = x + {1, 2} with the constant in a segment, and one of everything else.
void build_all_parts(ProgramBuilder& b) {
  b.segments = {bytes_of({9, 9, 9, 9, 1, 2}), bytes_of({5})};
  b.constant_offsets = {0, 16};
  b.named_data = {{"blob", 1}};
  b.payloads = {{1, 2, 3}};
  TensorSpec constant = unplanned();
  constant.data_buffer_idx = 1;
  TensorSpec dynamic = at(32);
  dynamic.dynamism = fb::TensorShapeDynamism::DYNAMIC_BOUND;
  const int32_t x = b.tensor(at(0));
  const int32_t borrowed = b.tensor(unplanned());
  const int32_t c = b.tensor(constant);
  const int32_t out = b.tensor(at(16));
  b.tensor(dynamic);
  const int32_t two = b.integer(2);
  const int32_t sizes = b.int_list({two});
  const int32_t view = b.tensor(unplanned());
  b.tensor_list({x, c});
  b.optional_tensor_list({-1, x});
  b.bool_list({0, 1});
  b.double_list({0.5, 1.5});
  b.string("text");
  b.real(2.5);
  b.null();
  b.call(b.op("test::add", "out"), {x, c, out, out});
  b.call(b.op("executorch_prim::et_view", "default"), {out, sizes, view});
  b.call_delegate(b.backend("IdleBackend", 0, fb::DataLocation::INLINE, {{"key", {7}}}), {x});
  b.jump_false(b.boolean(true), 5);
  b.free_value(borrowed);
  b.free_value(out);
  b.inputs = {x, borrowed};
  b.outputs = {out};
}

using ProgramPartsTest = BackendFixture<backend, registered>;

TEST_F(ProgramPartsTest, AllOfThemLoadAndRun) {
  ProgramBuilder builder;
  build_all_parts(builder);
  {
    auto method = load(builder);
    ASSERT_TRUE(method.ok()) << log();
    EXPECT_EQ(backend.alive, 1);
    std::vector<float> x = {10, 20}, y = {0, 0};
    for (int run = 0; run < 2; ++run) {
      ASSERT_EQ(set_inputs(*method, {tensor(x, {2}), tensor(y, {2})}), Error::Ok);
      ASSERT_EQ(method->execute(), Error::Ok) << log();
      EXPECT_THAT(read(method->get_output(0)), ElementsAre(11, 22));
    }
  }
  EXPECT_EQ(backend.alive, 0);
}

TEST_F(ProgramPartsTest, AnyAllocationMayFail) {
  ProgramBuilder builder;
  build_all_parts(builder);
  const ProgramBytes bytes = builder.finish();
  BufferDataLoader loader(bytes.data(), bytes.size());
  const auto program = Program::load(&loader);
  ASSERT_TRUE(program.ok());
  std::vector<std::max_align_t> pool(1 << 10), arena(kArenaBytes / sizeof(std::max_align_t));
  Span<uint8_t> planned[] = {Span<uint8_t>(reinterpret_cast<uint8_t*>(arena.data()), kArenaBytes)};
  HierarchicalAllocator planned_memory(Span<Span<uint8_t>>(planned, 1));
  size_t n = 0;
  for (;; ++n) {
    EndingAllocator allocator(Span<std::max_align_t>(pool.data(), pool.size()), n);
    MemoryManager memory(&allocator, &planned_memory);
    const auto method =
        program->load_method("forward", &memory, nullptr, nullptr, nullptr, Span<const Kernel>(kTestKernels));
    if (method.ok()) {
      EXPECT_EQ(backend.alive, 1);
      break;
    }
    ASSERT_TRUE(allocator.ended());
    EXPECT_EQ(method.error(), Error::MemoryAllocationFailed) << "allocation " << n;
    EXPECT_EQ(backend.alive, 0) << "allocation " << n;
  }
  EXPECT_GT(n, 20u);
}

TEST_F(ProgramPartsTest, MethodsAreNamed) {
  ProgramBuilder builder;
  builder.names = {"forward", "backward"};
  ASSERT_TRUE(load(builder).ok());
  EXPECT_STREQ(*program().get_method_name(1), "backward");
  EXPECT_EQ(program().get_method_name(2).error(), Error::InvalidArgument);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST_F(ProgramPartsTest, NotEveryMethodSaysHowItsOutputsWereFlattened) {
  ProgramBuilder builder;
  ASSERT_TRUE(load(builder).ok());
  EXPECT_EQ(program().get_output_flattening_encoding().error(), Error::InvalidProgram);
  EXPECT_EQ(program().get_output_flattening_encoding("backward").error(), Error::InvalidArgument);
}
#pragma GCC diagnostic pop

TEST_F(ProgramPartsTest, ConstantsOfASegment) {
  ProgramBuilder builder;
  build_all_parts(builder);
  ASSERT_TRUE(load(builder).ok());
  const auto constant = program().get_constant_buffer_data(1, 8);
  ASSERT_TRUE(constant.ok());
  EXPECT_EQ(static_cast<const float*>(*constant)[1], 2.0f);
  EXPECT_EQ(program().get_constant_buffer_data(1, 9).error(), Error::InvalidArgument);
  EXPECT_EQ(program().get_constant_buffer_data(2, 1).error(), Error::InvalidArgument);
}

TEST_F(ProgramPartsTest, ConstantsBeyondTheLimitAreNotRead) {
  ProgramBuilder builder;
  build_all_parts(builder);
  const ProgramBytes bytes = builder.finish();
  const auto header = executorch::runtime::ExtendedHeader::Parse(bytes.data(), bytes.size());
  ASSERT_TRUE(header.ok());
  limits_.program_bytes = static_cast<size_t>(header->program_size) + 23;
  BufferDataLoader loader(bytes.data(), bytes.size());
  EXPECT_EQ(Program::load(&loader, Program::Verification::InternalConsistency, limits_).error(), Error::OutOfResources);
  EXPECT_THAT(log(), HasSubstr("The constants have 24 bytes, the application allows 23 more"));
}

TEST_F(ProgramPartsTest, UnknownKindsAreRefusedByFieldAndRelease) {
  const auto refuses = [this](void (*build)(ProgramBuilder&), const char* expected) {
    ProgramBuilder builder;
    build(builder);
    EXPECT_EQ(load(builder).error(), Error::InvalidProgram);
    EXPECT_THAT(log(), HasSubstr(expected));
    logged.clear();
  };
  refuses([](ProgramBuilder& b) { b.unknown_value(); },
          "value 0: its field val is empty or of the unknown type 200: this runtime (schema of ExecuTorch 1.5) reads "
          "up to 11");
  refuses([](ProgramBuilder& b) { b.unknown_instruction(); },
          "its field instr_args has the unknown type 200: this runtime (schema of ExecuTorch 1.5) reads up to 5");
}

TEST_F(ProgramPartsTest, ProgramsOfANewerSchemaAreRefused) {
  ProgramBuilder builder;
  builder.version = 1;
  EXPECT_EQ(load(builder).error(), Error::InvalidProgram);
  EXPECT_THAT(log(), HasSubstr("of a newer release: the field Program.version is 1, this runtime (schema of ExecuTorch "
                               "1.5) reads up to 0"));
}

TEST_F(ProgramPartsTest, NothingIsNoProgram) {
  EXPECT_EQ(executorch::runtime::validate_program(nullptr), Error::InvalidProgram);
  EXPECT_EQ(executorch::runtime::validate_tensor(nullptr), Error::InvalidProgram);
  ProgramBuilder builder;
  builder.tensor(at(0));
  const ProgramBytes bytes = builder.finish();
  const auto* program = fb::GetProgram(bytes.data());
  EXPECT_EQ(executorch::runtime::validate_program(program), Error::Ok);
  const auto* tensor = program->execution_plan()->Get(0)->values()->Get(0)->val_as_Tensor();
  EXPECT_EQ(executorch::runtime::validate_tensor(tensor), Error::Ok);
}

}  // namespace
