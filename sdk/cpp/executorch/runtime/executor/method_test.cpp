// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/executor/program_builder.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;
using executorch::extension::BufferDataLoader;
using executorch::extension::MallocMemoryAllocator;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::Kernel;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::MemoryManager;
using executorch::runtime::Method;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::Span;
using executorch::runtime::testing::ProgramBuilder;
using executorch::runtime::testing::ProgramBytes;
using executorch::runtime::testing::TensorSpec;
namespace fb = executorch_flatbuffer;

namespace {

std::string* captured_log = nullptr;

void capture_log(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t, const char* text,
                 size_t length) {
  if (captured_log != nullptr) {
    captured_log->append(text, length).append("\n");
  }
}

/// test::add.out(Tensor a, Tensor b, Tensor(a!) out), elementwise on floats of one size.
void add_kernel(KernelRuntimeContext& context, Span<EValue*> args) {
  if (args.size() != 4) {
    return context.fail(Error::InvalidProgram);
  }
  const Tensor& a = args[0]->toTensor();
  const Tensor& b = args[1]->toTensor();
  const Tensor& out = args[2]->toTensor();
  for (ssize_t i = 0; i < out.numel(); ++i) {
    out.mutable_data_ptr<float>()[i] = a.const_data_ptr<float>()[i] + b.const_data_ptr<float>()[i];
  }
}

void failing_kernel(KernelRuntimeContext& context, Span<EValue*>) {
  context.fail(Error::NotSupported);
}

const Kernel kKernels[] = {Kernel("test::add.out", add_kernel), Kernel("test::fail.out", failing_kernel)};

class MethodTest : public ::testing::Test {
 protected:
  void SetUp() override {
    executorch::runtime::runtime_init();
    static const bool registered =
        executorch::runtime::register_pal(executorch::runtime::PalImpl::create(capture_log, __FILE__));
    ASSERT_TRUE(registered);
    captured_log = &log_;
  }
  void TearDown() override { captured_log = nullptr; }

  /// Loads "forward" of the program.
  Result<Method> load(ProgramBuilder& builder) {
    bytes_ = std::make_unique<ProgramBytes>(builder.finish());
    loader_ = std::make_unique<BufferDataLoader>(bytes_->data(), bytes_->size());
    auto program = Program::load(loader_.get());
    if (!program.ok()) {
      return program.error();
    }
    program_ = std::make_unique<Program>(std::move(*program));
    arena_.resize(256 / sizeof(std::max_align_t));
    planned_[0] = Span<uint8_t>(reinterpret_cast<uint8_t*>(arena_.data()), 256);
    planned_memory_ = std::make_unique<HierarchicalAllocator>(Span<Span<uint8_t>>(planned_, 1));
    memory_ = std::make_unique<MemoryManager>(&method_allocator_, planned_memory_.get());
    return program_->load_method("forward", memory_.get(), nullptr, nullptr, nullptr, Span<const Kernel>(kKernels));
  }

  /// A float tensor over `data`, which must stay.
  Tensor tensor(std::vector<float>& data, std::vector<int32_t> sizes, ScalarType type = ScalarType::Float) {
    sizes_.push_back(std::make_unique<std::vector<int32_t>>(std::move(sizes)));
    auto& own = *sizes_.back();
    impls_.push_back(std::make_unique<TensorImpl>(type, static_cast<ssize_t>(own.size()), own.data(), data.data()));
    return Tensor(impls_.back().get());
  }

  static Error set_inputs(Method& method, const std::vector<EValue>& values) {
    return method.set_inputs(executorch::aten::ArrayRef<EValue>(values.data(), values.size()));
  }

  static std::vector<float> read(const EValue& value) {
    const Tensor& t = value.toTensor();
    return std::vector<float>(t.const_data_ptr<float>(), t.const_data_ptr<float>() + t.numel());
  }

  std::string log_;
  std::vector<std::max_align_t> arena_;
  Span<uint8_t> planned_[1];
  MallocMemoryAllocator method_allocator_;
  std::unique_ptr<ProgramBytes> bytes_;
  std::unique_ptr<BufferDataLoader> loader_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<HierarchicalAllocator> planned_memory_;
  std::unique_ptr<MemoryManager> memory_;
  std::vector<std::unique_ptr<std::vector<int32_t>>> sizes_;
  std::vector<std::unique_ptr<TensorImpl>> impls_;
};

TensorSpec at(uint32_t offset, std::vector<int32_t> sizes = {2}) {
  TensorSpec spec{std::move(sizes)};
  spec.offset = offset;
  return spec;
}

TensorSpec unplanned(std::vector<int32_t> sizes = {2}) {
  TensorSpec spec{std::move(sizes)};
  spec.planned = false;
  return spec;
}

TEST_F(MethodTest, ExecutesAgainAndAgain) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0));
  const int32_t y = b.tensor(at(16));
  const int32_t out = b.tensor(at(32));
  b.inputs = {x, y};
  b.outputs = {out};
  b.call(b.op("test::add", "out"), {x, y, out, out});
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  for (const float start : {1.0f, 10.0f}) {
    std::vector<float> left{start, start + 1};
    std::vector<float> right{5, 6};
    ASSERT_EQ(set_inputs(*method, {EValue(tensor(left, {2})), EValue(tensor(right, {2}))}), Error::Ok);
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(read(method->get_output(0)), (std::vector<float>{start + 5, start + 7}));
  }
  EValue outputs[2];
  ASSERT_EQ(method->get_outputs(outputs, 2), Error::Ok);
  EXPECT_TRUE(outputs[0].isTensor());
  EXPECT_TRUE(outputs[1].isNone());
  EXPECT_EQ(method->get_outputs(outputs, 0), Error::InvalidArgument);
}

TEST_F(MethodTest, InputsAreCheckedAndNamed) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0));
  const int32_t seven = b.integer(7);
  b.inputs = {x, seven};
  b.outputs = {x};
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  std::vector<float> data{1, 2, 3, 4};
  const auto refused = [&](const EValue& value, size_t index, const char* text) {
    log_.clear();
    EXPECT_EQ(method->set_input(value, index), Error::InvalidArgument);
    EXPECT_NE(log_.find(text), std::string::npos) << log_;
  };
  refused(EValue(int64_t{1}), 0, "Input 0 must be a Tensor, found Int");
  refused(EValue(tensor(data, {3})), 0, "Input 0 must have sizes (2,), found (3,)");
  refused(EValue(tensor(data, {2, 1})), 0, "Input 0 must have 1 dimensions, found 2");
  refused(EValue(tensor(data, {2}, ScalarType::Int)), 0, "Input 0 must have dtype Float, found Int");
  refused(EValue(int64_t{8}), 1, "Input 1 has the value 7 built in");
  refused(EValue(7.0), 1, "Input 1 must be of type Int, found Double");
  refused(EValue(tensor(data, {2})), 2, "Input 2 was given, method 'forward' has 2 inputs");
  EXPECT_EQ(set_inputs(*method, {EValue(tensor(data, {2}))}), Error::InvalidArgument);
  EXPECT_EQ(method->execute(), Error::InvalidArgument) << "no input was set";
  EXPECT_EQ(set_inputs(*method, {EValue(tensor(data, {2})), EValue(int64_t{7})}), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
}

TEST_F(MethodTest, DynamicInputsMayBeSmallerNotLarger) {
  ProgramBuilder b;
  TensorSpec spec = at(0, {4, 2});
  spec.dynamism = fb::TensorShapeDynamism::DYNAMIC_BOUND;
  const int32_t x = b.tensor(spec);
  b.inputs = {x};
  b.outputs = {x};
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  std::vector<float> data(16, 3);
  ASSERT_EQ(method->set_input(EValue(tensor(data, {1, 2})), 0), Error::Ok);
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(method->get_output(0).toTensor().sizes()[0], 1);
  ASSERT_EQ(method->set_input(EValue(tensor(data, {4, 2})), 0), Error::Ok);
  EXPECT_EQ(method->set_input(EValue(tensor(data, {5, 2})), 0), Error::InvalidArgument);
}

TEST_F(MethodTest, OpenScalarsAcceptAnyScalar) {
  ProgramBuilder b;
  const int32_t n = b.null();
  const int32_t one = b.integer(1);
  const int32_t sum = b.integer(0);
  b.inputs = {n};
  b.outputs = {sum};
  b.call(b.op("executorch_prim::add", "Scalar"), {n, one, sum});
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  for (const int64_t value : {41, -1}) {
    ASSERT_EQ(method->set_input(EValue(value), 0), Error::Ok);
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(method->get_output(0).toInt(), value + 1);
  }
  EXPECT_EQ(method->set_input(EValue(), 0), Error::InvalidArgument);
}

TEST_F(MethodTest, UnplannedOutputsNeedMemory) {
  ProgramBuilder b;
  const int32_t x = b.tensor(unplanned());
  const int32_t out = b.tensor(unplanned());
  b.inputs = {x};
  b.outputs = {out};
  b.call(b.op("test::add", "out"), {x, x, out, out});
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  std::vector<float> data{1, 2};
  ASSERT_EQ(method->set_input(EValue(tensor(data, {2})), 0), Error::Ok);
  EXPECT_EQ(method->execute(), Error::InvalidState);
  EXPECT_NE(log_.find("call set_output_data_ptr() first"), std::string::npos) << log_;
  float result[2] = {};
  EXPECT_EQ(method->set_output_data_ptr(result, 7, 0), Error::InvalidArgument);
  EXPECT_EQ(method->set_output_data_ptr(nullptr, 8, 0), Error::InvalidArgument);
  EXPECT_EQ(method->set_output_data_ptr(result, 8, 1), Error::InvalidArgument);
  ASSERT_EQ(method->set_output_data_ptr(result, sizeof(result), 0), Error::Ok);
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(result[0], 2);
  EXPECT_EQ(result[1], 4);
}

TEST_F(MethodTest, JumpsAndMovesFollowTheCondition) {
  ProgramBuilder b;
  TensorSpec flag = at(64, {});
  flag.type = fb::ScalarType::BOOL;
  const int32_t condition = b.tensor(flag);
  const int32_t x = b.tensor(at(0));
  const int32_t doubled = b.tensor(at(16));
  const int32_t out = b.tensor(at(32));
  const int32_t never = b.boolean(false);
  b.inputs = {condition, x};
  b.outputs = {out};
  b.jump_false(condition, 4);
  b.call(b.op("test::add", "out"), {x, x, doubled, doubled});
  b.move(doubled, out);
  b.jump_false(never, 5);
  b.move(x, out);
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  std::vector<float> data{1, 2};
  for (const bool taken : {true, false, true}) {
    bool element = taken;
    TensorImpl impl(ScalarType::Bool, 0, nullptr, &element);
    ASSERT_EQ(set_inputs(*method, {EValue(Tensor(&impl)), EValue(tensor(data, {2}))}), Error::Ok);
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(read(method->get_output(0)), taken ? (std::vector<float>{2, 4}) : data);
    // The output keeps its own planned memory.
    EXPECT_EQ(method->get_output(0).toTensor().const_data_ptr(), reinterpret_cast<const uint8_t*>(arena_.data()) + 32);
  }
}

TEST_F(MethodTest, StepsThroughInstructions) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0));
  const int32_t out = b.tensor(at(16));
  const int32_t add = b.op("test::add", "out");
  b.inputs = {x};
  b.outputs = {out};
  b.call(add, {x, x, out, out});
  b.call(add, {out, out, out, out});
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  std::vector<float> data{1, 2};
  ASSERT_EQ(method->set_input(EValue(tensor(data, {2})), 0), Error::Ok);
  EXPECT_FALSE(method->in_progress());
  ASSERT_EQ(method->step(), Error::Ok);
  EXPECT_TRUE(method->in_progress());
  EXPECT_EQ(method->reset_execution(), Error::InvalidState);
  EXPECT_EQ(read(method->get_output(0)), (std::vector<float>{2, 4}));
  ASSERT_EQ(method->step(), Error::Ok);
  EXPECT_EQ(read(method->get_output(0)), (std::vector<float>{4, 8}));
  EXPECT_EQ(method->step(), Error::EndOfMethod);
  ASSERT_EQ(method->reset_execution(), Error::Ok);
  EXPECT_FALSE(method->in_progress());
}

TEST_F(MethodTest, AllThatIsMissingIsNamedAtOnce) {
  ProgramBuilder b;
  b.call(b.op("test::absent_one", "out"), {});
  b.call(b.op("test::add", "out"), {});
  b.call(b.op("test::absent_two", ""), {});
  EXPECT_EQ(load(b).error(), Error::OperatorMissing);
  EXPECT_NE(log_.find("test::absent_one.out"), std::string::npos) << log_;
  EXPECT_NE(log_.find("test::absent_two"), std::string::npos) << log_;
  EXPECT_NE(log_.find("2 operators"), std::string::npos) << log_;
}

TEST_F(MethodTest, AFailingKernelIsNamedAndTheMethodGoesOn) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0));
  b.outputs = {x};
  b.call(b.op("test::fail", "out"), {x, x});
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(method->execute(), Error::NotSupported);
    EXPECT_NE(log_.find("test::fail"), std::string::npos) << log_;
    EXPECT_FALSE(method->in_progress());
  }
}

TEST_F(MethodTest, KernelsMayNotWriteToConstants) {
  ProgramBuilder b;
  b.constants = {std::vector<uint8_t>(8)};
  TensorSpec constant = unplanned();
  constant.data_buffer_idx = 1;
  const int32_t c = b.tensor(constant);
  b.call(b.op("test::add", "out"), {c, c, c, c});
  EXPECT_EQ(load(b).error(), Error::InvalidProgram);

  ProgramBuilder hidden;
  hidden.constants = {std::vector<uint8_t>(8)};
  const int32_t k = hidden.tensor(constant);
  const int32_t out = hidden.tensor(at(0));
  hidden.call(hidden.op("test::add", "out"), {k, k, k, out});
  EXPECT_EQ(load(hidden).error(), Error::InvalidProgram) << "the output argument is not what is returned";
}

TEST_F(MethodTest, ATensorWithoutMemoryIsNoArgument) {
  ProgramBuilder b;
  const int32_t x = b.tensor(unplanned());
  const int32_t out = b.tensor(at(0));
  b.outputs = {out};
  b.call(b.op("test::add", "out"), {x, x, out, out});
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  EXPECT_EQ(method->execute(), Error::InvalidProgram);
}

TEST_F(MethodTest, MutableBuffersAreFoundByName) {
  ProgramBuilder b;
  TensorSpec state = at(0);
  state.name = "module.counter";
  b.tensor(state);
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  const auto attribute = method->get_attribute("module.counter");
  ASSERT_TRUE(attribute.ok());
  EXPECT_EQ(attribute->const_data_ptr(), arena_.data());
  EXPECT_EQ(method->get_attribute("module").error(), Error::NotFound);
  const auto meta = method->method_meta();
  ASSERT_EQ(meta.num_attributes(), 1u);
  EXPECT_EQ(meta.attribute_tensor_meta(0)->name(), "module.counter");
}

TEST_F(MethodTest, MetadataSaysWhatTheMethodNeeds) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0, {2, 3}));
  const int32_t n = b.null();
  b.inputs = {x, n};
  b.outputs = {x};
  b.backend("Missing");
  ProgramBytes bytes = b.finish();
  BufferDataLoader loader(bytes.data(), bytes.size());
  // Its backend data is not there; the metadata does not need it.
  auto program = Program::load(&loader, Program::Verification::Minimal);
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(program->method_meta("backward").error(), Error::InvalidArgument);
  EXPECT_NE(log_.find("'forward'"), std::string::npos) << "the methods that exist are named";
  const auto meta = program->method_meta("forward");
  ASSERT_TRUE(meta.ok());
  EXPECT_STREQ(meta->name(), "forward");
  EXPECT_EQ(meta->num_inputs(), 2u);
  EXPECT_EQ(*meta->input_tag(0), executorch::runtime::Tag::Tensor);
  EXPECT_EQ(*meta->input_tag(1), executorch::runtime::Tag::None);
  EXPECT_EQ(meta->input_tag(2).error(), Error::InvalidArgument);
  EXPECT_EQ(meta->input_tensor_meta(0)->nbytes(), 24u);
  EXPECT_TRUE(meta->input_tensor_meta(0)->is_memory_planned());
  EXPECT_EQ(meta->input_tensor_meta(1).error(), Error::InvalidArgument);
  EXPECT_EQ(meta->num_memory_planned_buffers(), 1u);
  EXPECT_EQ(*meta->memory_planned_buffer_size(0), 256);
  EXPECT_EQ(meta->memory_planned_buffer_size(1).error(), Error::InvalidArgument);
  EXPECT_TRUE(meta->uses_backend("Missing"));
  EXPECT_FALSE(meta->uses_backend("Other"));
  EXPECT_EQ(meta->num_backends(), 1u);
  EXPECT_STREQ(*meta->get_backend_name(0), "Missing");
}

TEST_F(MethodTest, MemoryThatIsTooSmallIsAnError) {
  ProgramBuilder b;
  b.planned_sizes = {0, 512};
  b.tensor(at(300));
  EXPECT_EQ(load(b).error(), Error::MemoryAllocationFailed);
}

}  // namespace
