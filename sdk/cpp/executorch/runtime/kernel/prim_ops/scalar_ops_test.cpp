// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/kernel/prim_ops/prim_ops.h>
#include <executorch/runtime/platform/runtime.h>

using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::Span;

namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

class ScalarOpsTest : public ::testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }

  /// Calls the operator with the arguments and an empty result.
  template <typename... Args>
  EValue call(const std::string& name, Args... args) {
    EValue values[] = {EValue(args)..., EValue()};
    EValue* pointers[sizeof...(args) + 1];
    for (size_t i = 0; i <= sizeof...(args); ++i) {
      pointers[i] = &values[i];
    }
    const auto kernel = executorch::runtime::get_op_function_from_registry(("executorch_prim::" + name).c_str());
    EXPECT_TRUE(kernel.ok()) << name;
    KernelRuntimeContext context;
    (*kernel)(context, Span<EValue*>(pointers, sizeof...(args) + 1));
    error_ = context.failure_state();
    return values[sizeof...(args)];
  }

  template <typename... Args>
  int64_t call_int(const std::string& name, Args... args) {
    const EValue result = call(name, args...);
    EXPECT_EQ(error_, Error::Ok) << name;
    EXPECT_TRUE(result.isInt()) << name;
    return result.isInt() ? result.toInt() : 0;
  }

  template <typename... Args>
  double call_double(const std::string& name, Args... args) {
    const EValue result = call(name, args...);
    EXPECT_EQ(error_, Error::Ok) << name;
    EXPECT_TRUE(result.isDouble()) << name;
    return result.isDouble() ? result.toDouble() : 0;
  }

  template <typename... Args>
  bool call_bool(const std::string& name, Args... args) {
    const EValue result = call(name, args...);
    EXPECT_EQ(error_, Error::Ok) << name;
    EXPECT_TRUE(result.isBool()) << name;
    return result.isBool() && result.toBool();
  }

  Error error_ = Error::Ok;
};

TEST_F(ScalarOpsTest, ArithmeticKeepsIntsAndMixesToFloat) {
  EXPECT_EQ(call_int("add.Scalar", int64_t{2}, int64_t{3}), 5);
  EXPECT_EQ(call_int("sub.Scalar", int64_t{2}, int64_t{3}), -1);
  EXPECT_EQ(call_int("mul.Scalar", int64_t{-2}, int64_t{3}), -6);
  EXPECT_EQ(call_double("add.Scalar", int64_t{2}, 0.5), 2.5);
  EXPECT_EQ(call_double("mul.Scalar", 2.0, 3.0), 6.0);
  EXPECT_EQ(call_int("add.Scalar", true, int64_t{1}), 2);
}

TEST_F(ScalarOpsTest, IntsThatDoNotFitAreRefused) {
  for (const char* name : {"add.Scalar", "mul.Scalar"}) {
    call(name, kMax, int64_t{2});
    EXPECT_EQ(error_, Error::InvalidArgument) << name;
  }
  call("sub.Scalar", kMin, int64_t{1});
  EXPECT_EQ(error_, Error::InvalidArgument);
  call("neg.Scalar", kMin);
  EXPECT_EQ(error_, Error::InvalidArgument);
  call("floordiv.Scalar", kMin, int64_t{-1});
  EXPECT_EQ(error_, Error::InvalidArgument);
  EXPECT_EQ(call_int("mod.Scalar", kMin, int64_t{-1}), 0);
}

// The expected values are what Python prints for a // b and a % b.
TEST_F(ScalarOpsTest, FloorDivisionRoundsToNegativeInfinity) {
  for (const char* name : {"floordiv.Scalar", "floordiv.int"}) {
    EXPECT_EQ(call_int(name, int64_t{7}, int64_t{2}), 3);
    EXPECT_EQ(call_int(name, int64_t{-7}, int64_t{2}), -4);
    EXPECT_EQ(call_int(name, int64_t{7}, int64_t{-2}), -4);
    EXPECT_EQ(call_int(name, int64_t{-7}, int64_t{-2}), 3);
    EXPECT_EQ(call_int(name, int64_t{-6}, int64_t{2}), -3);
  }
  for (const char* name : {"mod.Scalar", "mod.int"}) {
    EXPECT_EQ(call_int(name, int64_t{7}, int64_t{3}), 1);
    EXPECT_EQ(call_int(name, int64_t{-7}, int64_t{3}), 2);
    EXPECT_EQ(call_int(name, int64_t{7}, int64_t{-3}), -2);
    EXPECT_EQ(call_int(name, int64_t{-7}, int64_t{-3}), -1);
  }
  EXPECT_EQ(call_double("floordiv.Scalar", -7.0, 2.0), -4.0);
  EXPECT_EQ(call_double("mod.Scalar", -7.5, 2.0), 0.5);
  EXPECT_EQ(call_double("mod.Scalar", 7.5, -2.0), -0.5);
  // 1.0 // 0.1 is 9.0 although 1.0 / 0.1 is 10.0.
  EXPECT_EQ(call_double("floordiv.Scalar", 1.0, 0.1), 9.0);
  EXPECT_TRUE(std::signbit(call_double("floordiv.Scalar", -0.0, 2.0)));
}

TEST_F(ScalarOpsTest, TrueDivisionIsAlwaysFloat) {
  EXPECT_EQ(call_double("truediv.Scalar", int64_t{7}, int64_t{2}), 3.5);
  EXPECT_EQ(call_double("truediv.Scalar", int64_t{4}, int64_t{2}), 2.0);
}

TEST_F(ScalarOpsTest, DivisionByZeroIsRefused) {
  for (const char* name : {"floordiv.Scalar", "floordiv.int", "mod.Scalar", "mod.int", "truediv.Scalar"}) {
    call(name, int64_t{1}, int64_t{0});
    EXPECT_EQ(error_, Error::InvalidArgument) << name;
  }
  call("mod.Scalar", 1.0, 0.0);
  EXPECT_EQ(error_, Error::InvalidArgument);
}

TEST_F(ScalarOpsTest, Comparisons) {
  EXPECT_TRUE(call_bool("eq.Scalar", int64_t{2}, 2.0));
  EXPECT_FALSE(call_bool("eq.Scalar", kMax, kMax - 1));
  EXPECT_TRUE(call_bool("gt.Scalar", int64_t{3}, 2.5));
  EXPECT_FALSE(call_bool("gt.Scalar", int64_t{2}, int64_t{2}));
  EXPECT_TRUE(call_bool("lt.Scalar", int64_t{1}, int64_t{2}));
  EXPECT_TRUE(call_bool("ge.Scalar", int64_t{2}, int64_t{2}));
  EXPECT_TRUE(call_bool("le.Scalar", int64_t{2}, int64_t{2}));
  const double nan = std::nan("");
  for (const char* name : {"eq.Scalar", "gt.Scalar", "lt.Scalar", "ge.Scalar", "le.Scalar"}) {
    EXPECT_FALSE(call_bool(name, nan, nan)) << name;
  }
}

// As Python compares them: an int is not rounded to a float first.
TEST_F(ScalarOpsTest, AnIntAndAFloatAreComparedExactly) {
  const double infinity = std::numeric_limits<double>::infinity();
  struct Case {
    int64_t integer;
    double real;
    int sign;  // of integer - real
  };
  constexpr int64_t kTwo53 = int64_t{1} << 53;
  constexpr double kTwo63 = 9223372036854775808.0;
  for (const Case& c :
       {Case{kTwo53 + 1, 9007199254740992.0, 1}, Case{kTwo53, 9007199254740992.0, 0},
        Case{kTwo53 - 1, 9007199254740992.0, -1}, Case{-kTwo53 - 1, -9007199254740992.0, -1}, Case{kMax, kTwo63, -1},
        Case{kMax - 511, kTwo63, -1}, Case{INT64_MIN, -kTwo63, 0}, Case{INT64_MIN + 1, -kTwo63, 1},
        Case{kMax, infinity, -1}, Case{INT64_MIN, -infinity, 1}, Case{kMax, 1e300, -1}, Case{INT64_MIN, -1e300, 1},
        Case{2, 2.5, -1}, Case{-2, -2.5, 1}, Case{0, -0.0, 0}}) {
    SCOPED_TRACE(testing::Message() << c.integer << " and " << c.real);
    const int64_t i = c.integer;
    const double r = c.real;
    EXPECT_EQ(call_bool("eq.Scalar", i, r), c.sign == 0);
    EXPECT_EQ(call_bool("eq.Scalar", r, i), c.sign == 0);
    EXPECT_EQ(call_bool("gt.Scalar", i, r), c.sign > 0);
    EXPECT_EQ(call_bool("gt.Scalar", r, i), c.sign < 0);
    EXPECT_EQ(call_bool("lt.Scalar", i, r), c.sign < 0);
    EXPECT_EQ(call_bool("lt.Scalar", r, i), c.sign > 0);
    EXPECT_EQ(call_bool("ge.Scalar", i, r), c.sign >= 0);
    EXPECT_EQ(call_bool("ge.Scalar", r, i), c.sign <= 0);
    EXPECT_EQ(call_bool("le.Scalar", i, r), c.sign <= 0);
    EXPECT_EQ(call_bool("le.Scalar", r, i), c.sign >= 0);
  }
  for (const char* name : {"eq.Scalar", "gt.Scalar", "lt.Scalar", "ge.Scalar", "le.Scalar"}) {
    EXPECT_FALSE(call_bool(name, int64_t{1}, std::nan(""))) << name;
    EXPECT_FALSE(call_bool(name, std::nan(""), kMax)) << name;
    EXPECT_EQ(call_bool(name, infinity, infinity), name[1] == 'q' || name[1] == 'e') << name;
    EXPECT_EQ(call_bool(name, kTwo63, 1e300), name[0] == 'l') << name;
  }
}

TEST_F(ScalarOpsTest, MinimumMaximumAndChoice) {
  EXPECT_EQ(call_int("sym_max.Scalar", int64_t{2}, int64_t{3}), 3);
  EXPECT_EQ(call_double("sym_max.Scalar", int64_t{2}, 1.5), 2.0);
  EXPECT_EQ(call_int("sym_min.Scalar", int64_t{2}, int64_t{3}), 2);
  EXPECT_EQ(call_int("sym_ite.Scalar", true, int64_t{2}, int64_t{3}), 2);
  EXPECT_EQ(call_double("sym_ite.Scalar", false, int64_t{2}, 3.0), 3.0);
  EXPECT_TRUE(call_bool("sym_not.Scalar", false));
}

// The expected values are Python's math.ceil, round, math.trunc and int.
TEST_F(ScalarOpsTest, Rounding) {
  EXPECT_EQ(call_int("ceil.Scalar", 1.2), 2);
  EXPECT_EQ(call_int("ceil.Scalar", -1.2), -1);
  EXPECT_EQ(call_int("round.Scalar", 0.5), 0);
  EXPECT_EQ(call_int("round.Scalar", 1.5), 2);
  EXPECT_EQ(call_int("round.Scalar", 2.5), 2);
  EXPECT_EQ(call_int("round.Scalar", -0.5), 0);
  EXPECT_EQ(call_int("round.Scalar", -1.5), -2);
  EXPECT_EQ(call_int("round.Scalar", 2.6), 3);
  EXPECT_EQ(call_int("trunc.Scalar", -1.9), -1);
  EXPECT_EQ(call_int("sym_int.Scalar", 1.9), 1);
  EXPECT_EQ(call_int("ceil.Scalar", int64_t{3}), 3);
  EXPECT_EQ(call_double("sym_float.Scalar", int64_t{3}), 3.0);
  EXPECT_EQ(call_int("neg.Scalar", int64_t{3}), -3);
  EXPECT_EQ(call_double("neg.Scalar", 3.0), -3.0);
  for (const double value : {1e30, std::numeric_limits<double>::infinity(), std::nan("")}) {
    call("trunc.Scalar", value);
    EXPECT_EQ(error_, Error::InvalidArgument) << value;
  }
}

TEST_F(ScalarOpsTest, WrongArgumentsAreRefused) {
  call("add.Scalar", int64_t{1});
  EXPECT_EQ(error_, Error::InvalidProgram);
  call("neg.Scalar", int64_t{1}, int64_t{1});
  EXPECT_EQ(error_, Error::InvalidProgram);
  executorch::runtime::ArrayRef<char> text("a", 1);
  call("add.Scalar", int64_t{1}, &text);
  EXPECT_EQ(error_, Error::InvalidProgram);
}

TEST_F(ScalarOpsTest, EveryOperatorOfTheFormatIsRegistered) {
  for (const char* name :
       {"add", "sub",  "mul",   "floordiv", "truediv",   "mod",     "eq",      "gt",      "lt",      "ge",     "le",
        "neg", "ceil", "round", "trunc",    "sym_float", "sym_int", "sym_not", "sym_max", "sym_min", "sym_ite"}) {
    const std::string full = std::string("executorch_prim::") + name + ".Scalar";
    EXPECT_TRUE(executorch::runtime::registry_has_op_function(full.c_str())) << full;
  }
  for (const char* name :
       {"executorch_prim::floordiv.int", "executorch_prim::mod.int", "executorch_prim::et_copy_index.tensor",
        "executorch_prim::et_view.default", "aten::sym_size.int", "aten::sym_numel", "aten::_local_scalar_dense"}) {
    EXPECT_TRUE(executorch::runtime::registry_has_op_function(name)) << name;
  }
}

}  // namespace
