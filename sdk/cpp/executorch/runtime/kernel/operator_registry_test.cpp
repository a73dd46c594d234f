// SPDX-License-Identifier: BSD-3-Clause
// The table is global and never shrinks, so every test uses other names.
#include <string>
#include <vector>

#include <executorch/runtime/core/testing_util/error_matchers.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/kernel/test/test_util.h>
#include <executorch/runtime/kernel/thread_parallel_interface.h>
#include <executorch/runtime/platform/test/pal_spy.h>
#include <gtest/gtest.h>

using namespace executorch::runtime;
using executorch::aten::DimOrderType;
using executorch::aten::ScalarType;
using executorch::runtime::testing::HasError;
using executorch::runtime::testing::IsOkAndHolds;
using executorch::runtime::testing::make_kernel_key;
using ::testing::HasSubstr;

namespace {

template <int id>
void op(KernelRuntimeContext& context, Span<EValue*>) {
  context.fail(static_cast<Error>(id));
}

// Registered before main(), possibly before any other constructor, as user code does.
const Error registered_by_initialiser = register_kernel(Kernel("registry_test::static.out", op<1>));

DimOrderType contiguous[] = {0, 1, 2, 3};
DimOrderType channels_last[] = {0, 2, 3, 1};
TensorMeta float_contiguous[] = {TensorMeta(ScalarType::Float, contiguous)};
TensorMeta float_channels_last[] = {TensorMeta(ScalarType::Float, channels_last)};
TensorMeta long_contiguous[] = {TensorMeta(ScalarType::Long, contiguous)};

}  // namespace

TEST(OperatorRegistryTest, RTC_10_StaticInitialisersRegister) {
  EXPECT_EQ(registered_by_initialiser, Error::Ok);
  EXPECT_THAT(get_op_function_from_registry("registry_test::static.out"), IsOkAndHolds(op<1>));
}

TEST(OperatorRegistryTest, ThePrimOperatorsAreThereBeforeAProgramIsLoaded) {
  EXPECT_TRUE(registry_has_op_function("aten::sym_size.int"));
  EXPECT_TRUE(get_op_function_from_registry("executorch_prim::add.Scalar").ok());
  size_t count = 0;
  for (const Kernel& kernel : get_registered_kernels()) {
    count += std::string(kernel.name_) == "aten::sym_size.int";
  }
  EXPECT_EQ(count, 1u);
}

TEST(OperatorRegistryTest, RTC_10_MissingKernelsAreAnError) {
  PalSpy spy;
  InterceptWith intercept(spy);
  EXPECT_FALSE(registry_has_op_function("registry_test::missing.out"));
  EXPECT_EQ(spy.emit_log_message_call_count, 0u);
  EXPECT_THAT(get_op_function_from_registry("registry_test::missing.out", float_contiguous),
              HasError(Error::OperatorMissing));
  EXPECT_THAT(spy.log(), HasSubstr("registry_test::missing.out"));
  EXPECT_THAT(spy.log(), HasSubstr("dtype Float (6), dim order (0,1,2,3)"));
}

TEST(OperatorRegistryTest, RTC_14_SpecialisedKernelsComeBeforeTheFallback) {
  const Kernel kernels[] = {
      Kernel("registry_test::key.out", "v1/6;0,1,2,3", op<2>),
      Kernel("registry_test::key.out", op<3>),
      Kernel("registry_test::key.out", "v1/6;0,2,3,1", op<4>),
      Kernel("registry_test::only_float.out", "v1/6;0,1,2,3", op<5>),
  };
  ASSERT_EQ(register_kernels(kernels), Error::Ok);
  EXPECT_THAT(get_op_function_from_registry("registry_test::key.out", float_contiguous), IsOkAndHolds(op<2>));
  EXPECT_THAT(get_op_function_from_registry("registry_test::key.out", float_channels_last), IsOkAndHolds(op<4>));
  EXPECT_THAT(get_op_function_from_registry("registry_test::key.out", long_contiguous), IsOkAndHolds(op<3>));
  EXPECT_THAT(get_op_function_from_registry("registry_test::key.out"), IsOkAndHolds(op<3>));
  EXPECT_TRUE(registry_has_op_function("registry_test::only_float.out", float_contiguous));
  EXPECT_FALSE(registry_has_op_function("registry_test::only_float.out", long_contiguous));
  EXPECT_FALSE(registry_has_op_function("registry_test::only_float.out"));
}

TEST(OperatorRegistryTest, RegisteringTwiceNamesTheOperator) {
  ASSERT_EQ(register_kernel(Kernel("registry_test::twice.out", op<6>)), Error::Ok);
  ASSERT_EQ(register_kernel(Kernel("registry_test::twice.out", "v1/7;0", op<6>)), Error::Ok);
  PalSpy spy;
  InterceptWith intercept(spy);
  EXPECT_EQ(register_kernel(Kernel("registry_test::twice.out", op<7>)), Error::RegistrationAlreadyRegistered);
  EXPECT_THAT(spy.last_log_message_args.message, HasSubstr("registry_test::twice.out (fallback)"));
  EXPECT_EQ(register_kernel(Kernel("registry_test::twice.out", "v1/7;0", op<7>)), Error::RegistrationAlreadyRegistered);
  EXPECT_THAT(spy.last_log_message_args.message, HasSubstr("registry_test::twice.out (v1/7;0)"));
  EXPECT_THAT(get_op_function_from_registry("registry_test::twice.out"), IsOkAndHolds(op<6>));
}

TEST(OperatorRegistryTest, AFailureRegistersNothing) {
  PalSpy spy;
  InterceptWith intercept(spy);
  const size_t before = get_registered_kernels().size();
  const Kernel duplicate[] = {
      Kernel("registry_test::half_1.out", op<8>),
      Kernel("registry_test::half_2.out", op<8>),
      Kernel("registry_test::half_1.out", op<9>),
  };
  EXPECT_EQ(register_kernels(duplicate), Error::RegistrationAlreadyRegistered);
  const Kernel invalid[] = {Kernel("registry_test::half_1.out", op<8>), Kernel("registry_test::half_3.out", nullptr)};
  EXPECT_EQ(register_kernels(invalid), Error::InvalidArgument);
  EXPECT_EQ(get_registered_kernels().size(), before);
  EXPECT_FALSE(registry_has_op_function("registry_test::half_1.out"));
  EXPECT_EQ(register_kernels({duplicate, 2}), Error::Ok);
  EXPECT_TRUE(registry_has_op_function("registry_test::half_2.out"));
}

TEST(OperatorRegistryTest, HoldsMaxKernelsAndNoMore) {
  PalSpy spy;
  InterceptWith intercept(spy);
  // One kernel more than fits by default; then none of them is registered.
  static std::vector<std::string> names;
  std::vector<Kernel> kernels;
  for (int i = 0; i < 2001; ++i) {
    names.push_back("registry_test::many_" + std::to_string(i) + ".out");
  }
  for (const std::string& name : names) {
    kernels.emplace_back(name.c_str(), op<10>);
  }
  const size_t before = get_registered_kernels().size();
  EXPECT_EQ(register_kernels({kernels.data(), kernels.size()}), Error::RegistrationExceedingMaxKernels);
  EXPECT_THAT(spy.log(), HasSubstr("holds 2000 kernels"));
  ASSERT_EQ(get_registered_kernels().size(), before);
  EXPECT_FALSE(registry_has_op_function(names[0].c_str()));
  // A table with 1000 more still finds each of them.
  ASSERT_EQ(register_kernels({kernels.data(), 1000}), Error::Ok);
  for (int i = 0; i < 2001; ++i) {
    EXPECT_EQ(registry_has_op_function(names[i].c_str()), i < 1000) << names[i];
  }
}

TEST(OperatorRegistryTest, ListsOfAProgramAreSearchedInOrder) {
  const Kernel kernels[] = {
      Kernel("registry_test::list.out", op<11>),
      Kernel("registry_test::list.out", "v1/6;0,1,2,3", op<12>),
      Kernel("registry_test::list.out", op<13>),
  };
  EXPECT_THAT(get_op_function_from_registry("registry_test::list.out", {}, kernels), IsOkAndHolds(op<11>));
  EXPECT_THAT(get_op_function_from_registry("registry_test::list.out", float_contiguous, kernels),
              IsOkAndHolds(op<12>));
  EXPECT_FALSE(registry_has_op_function("registry_test::list.out"));
}

// SB-05: the registration of a build that leaves out the code for other dtypes.
TEST(OperatorRegistryTest, SB_05_AKernelForSomeDtypesServesAllDimOrders) {
  const Kernel kernels[] = {
      Kernel("registry_test::dtypes.out", "dtypes/000010100000000000000000000100", op<14>),
      Kernel("registry_test::dtypes.out", "v1/6;0,1,2,3", op<15>),
  };
  const auto find = [&](std::vector<TensorMeta> tensors) {
    return get_op_function_from_registry("registry_test::dtypes.out", {tensors.data(), tensors.size()}, kernels);
  };
  const TensorMeta of_float = float_channels_last[0];
  EXPECT_THAT(find({of_float}), IsOkAndHolds(op<14>));
  EXPECT_THAT(find({of_float, long_contiguous[0], TensorMeta(ScalarType::UInt16, contiguous)}), IsOkAndHolds(op<14>));
  EXPECT_THAT(find({}), IsOkAndHolds(op<14>));
  EXPECT_THAT(find({float_contiguous[0]}), IsOkAndHolds(op<15>));
  PalSpy spy;
  InterceptWith intercept(spy);
  EXPECT_THAT(find({of_float, TensorMeta(ScalarType::Double, channels_last)}), HasError(Error::OperatorMissing));
  EXPECT_THAT(spy.log(), HasSubstr("dtype Double (7), dim order (0,2,3,1)"));
  EXPECT_THAT(find({TensorMeta(ScalarType::Short, contiguous)}), HasError(Error::OperatorMissing));
}

TEST(KernelKeyTest, Text) {
  char text[KernelKey::MAX_SIZE];
  ASSERT_EQ(make_kernel_key({{ScalarType::Float, {0, 1, 2, 3}}, {ScalarType::Bool, {0, 1}}}, text, sizeof(text)),
            Error::Ok);
  EXPECT_STREQ(text, "v1/6;0,1,2,3|11;0,1");
  ASSERT_EQ(make_kernel_key({}, text, sizeof(text)), Error::Ok);
  EXPECT_STREQ(text, "");
  PalSpy spy;
  InterceptWith intercept(spy);
  EXPECT_EQ(make_kernel_key({{ScalarType::Float, {0, 1, 2, 3}}}, text, 12), Error::InvalidArgument);
  EXPECT_STREQ(text, "");
  EXPECT_EQ(make_kernel_key({{ScalarType::Float, {0, 1, 2, 3}}}, text, 13), Error::Ok);
}

TEST(KernelKeyTest, TheLongestKeyFits) {
  std::vector<std::pair<ScalarType, std::vector<DimOrderType>>> tensors(
      16, {ScalarType::UInt64, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}});
  char text[KernelKey::MAX_SIZE];
  EXPECT_EQ(make_kernel_key(tensors, text, sizeof(text)), Error::Ok);
  EXPECT_EQ(std::string(text).size(), KernelKey::MAX_SIZE - 1);
}

TEST(KernelKeyTest, Equality) {
  const std::string same = "v1/6;0";
  EXPECT_TRUE(KernelKey("v1/6;0") == KernelKey(same.c_str()));
  EXPECT_TRUE(KernelKey("v1/6;0") != KernelKey("v1/6;0,1"));
  EXPECT_TRUE(KernelKey() == KernelKey(nullptr));
  EXPECT_TRUE(KernelKey() != KernelKey("v1/6;0"));
  EXPECT_TRUE(float_contiguous[0] != float_channels_last[0]);
  EXPECT_TRUE(float_contiguous[0] != long_contiguous[0]);
}

TEST(KernelRuntimeContextTest, RTC_03_TemporaryMemory) {
  PalSpy spy;
  InterceptWith intercept(spy);
  KernelRuntimeContext without;
  EXPECT_THAT(without.allocate_temp(4), HasError(Error::NotFound));
  alignas(16) uint8_t pool[32];
  MemoryAllocator allocator(sizeof(pool), pool);
  KernelRuntimeContext context(nullptr, &allocator);
  EXPECT_THAT(context.allocate_temp(32), IsOkAndHolds(static_cast<void*>(pool)));
  EXPECT_THAT(context.allocate_temp(1), HasError(Error::MemoryAllocationFailed));
  EXPECT_EQ(context.failure_state(), Error::Ok);
  context.fail(Error::NotSupported);
  EXPECT_EQ(context.failure_state(), Error::NotSupported);
  EXPECT_EQ(context.internal_event_tracer(), nullptr);
}

TEST(ParallelForTest, GrainsOfWork) {
  using executorch::extension::internal::grain_for;
  EXPECT_EQ(grain_for(100, {}), 100);
  EXPECT_EQ(grain_for(100, {1}), 100);
  EXPECT_EQ(grain_for(100, {0}), 100) << "an index without work";
  EXPECT_EQ(grain_for(100, {50}), 2);
  EXPECT_EQ(grain_for(100, {49}), 3) << "two take less than a thread is worth";
  EXPECT_EQ(grain_for(100, {7, 7}), 3) << "as one factor of 49";
  EXPECT_EQ(grain_for(100, {101}), 1);
  EXPECT_EQ(grain_for(100, {INT64_MAX, INT64_MAX, INT64_MAX}), 1) << "the product has more than 64 bits";
}

TEST(ParallelForTest, CoversTheRangeOnce) {
  std::vector<int> visits(100);
  EXPECT_TRUE(executorch::extension::parallel_for(0, 100, 7, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ++visits[static_cast<size_t>(i)];
    }
  }));
  EXPECT_EQ(visits, std::vector<int>(100, 1));
  PalSpy spy;
  InterceptWith intercept(spy);
  const auto must_not_run = [](int64_t, int64_t) { FAIL(); };
  EXPECT_TRUE(executorch::extension::parallel_for(5, 5, 1, must_not_run));
  EXPECT_FALSE(executorch::extension::parallel_for(5, 4, 1, must_not_run));
  EXPECT_FALSE(executorch::extension::parallel_for(0, 4, 0, must_not_run));
  EXPECT_EQ(executorch::extension::get_thread_num(), 0);
}
TEST(OperatorRegistryTest, NullIsTheNameOfNoOperator) {
  EXPECT_FALSE(registry_has_op_function(nullptr));
  EXPECT_EQ(get_op_function_from_registry(nullptr).error(), Error::InvalidArgument);
  EXPECT_EQ(get_op_function_from_registry(nullptr, {}, {}).error(), Error::InvalidArgument);
}
