// SPDX-License-Identifier: BSD-3-Clause
// Arguments that PyTorch's samples do not have, or that eager refuses and ExecuTorch's kernels take: outputs of other
// dtypes, empty tensors, and numbers that no tensor of a dtype holds.
#include <functional>
#include <string>

#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/platform/test/pal_spy.h>

#include "kernel_test.h"

namespace torch::executor::native {
namespace {

using executorch::aten::BFloat16;
using executorch::aten::Half;

class WiderArgumentsTest : public KernelTest {
 protected:
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Double> td;
  TensorFactory<ScalarType::Half> th;
  TensorFactory<ScalarType::Byte> tb;
  TensorFactory<ScalarType::Char> tc;
  TensorFactory<ScalarType::Short> ts;
  TensorFactory<ScalarType::Int> ti;
  TensorFactory<ScalarType::Long> tl;
  TensorFactory<ScalarType::Bool> tbool;
};

TEST_F(WiderArgumentsTest, VarianceInAnotherPrecision) {
  const Tensor in = tf.make({2, 3}, {1, 2, 3, 0, 4, 8});
  Tensor wide = td.zeros({2}), mean = td.zeros({2}), narrow = th.zeros({2});
  const int64_t dims[] = {1};
  var_out(ctx, in, ArrayRef<int64_t>(dims, 1), true, false, wide);
  EXPECT_TENSOR_EQ(wide, td.make({2}, {1, 16}));
  var_mean_correction_out(ctx, in, ArrayRef<int64_t>(dims, 1), Scalar(0), false, wide, mean);
  EXPECT_TENSOR_CLOSE(wide, td.make({2}, {2.0 / 3, 32.0 / 3}));
  EXPECT_TENSOR_EQ(mean, td.make({2}, {2, 4}));
  var_correction_out(ctx, in, ArrayRef<int64_t>(dims, 1), Scalar(1), false, narrow);
  EXPECT_TENSOR_EQ(narrow, th.make({2}, {1, 16}));
  Tensor ints = ti.zeros({2});
  var_out(ctx, in, ArrayRef<int64_t>(dims, 1), true, false, ints);
  expect_failure();
}

TEST_F(WiderArgumentsTest, GluInAnotherPrecision) {
  // 130 values a half: more than a block of the kernel.
  std::vector<double> gate(260, 0.0), halves(130);
  for (size_t i = 0; i < 130; ++i) {
    gate[i] = static_cast<double>(i);
    halves[i] = 0.5 * static_cast<double>(i);
  }
  Tensor narrow = tf.zeros({130}), wide = td.zeros({130});
  glu_out(ctx, td.make({260}, gate), 0, narrow);
  EXPECT_TENSOR_EQ(narrow, tf.make({130}, std::vector<float>(halves.begin(), halves.end())));
  glu_out(ctx, tf.make({260}, std::vector<float>(gate.begin(), gate.end())), 0, wide);
  EXPECT_TENSOR_EQ(wide, td.make({130}, halves));
  Tensor ints = ti.zeros({130});
  glu_out(ctx, td.make({260}, gate), 0, ints);
  expect_failure();
}

TEST_F(WiderArgumentsTest, ExtremesInAnotherDtypeAndOfNothing) {
  Tensor wide = td.zeros({}), number = tf.zeros({}), small = tc.zeros({}), truth = tbool.zeros({}),
         integer = tl.zeros({});
  max_unary_out(ctx, tf.make({3}, {1.5, -2, 0}), wide);
  EXPECT_TENSOR_EQ(wide, td.make({}, {1.5}));
  min_unary_out(ctx, ti.make({3}, {7, -2, 0}), number);
  EXPECT_TENSOR_EQ(number, tf.make({}, {-2}));
  min_unary_out(ctx, tbool.make({2}, {true, false}), integer);
  EXPECT_TENSOR_EQ(integer, tl.make({}, {0}));
  max_unary_out(ctx, tf.ones({2}), integer);
  expect_failure();  // fractions would be lost

  max_unary_out(ctx, tf.zeros({0, 3}), number);
  EXPECT_TENSOR_EQ(number, tf.make({}, {-kInfinity}));
  min_unary_out(ctx, tf.zeros({0}), wide);
  EXPECT_TENSOR_EQ(wide, td.make({}, {std::numeric_limits<double>::infinity()}));
  max_unary_out(ctx, tc.zeros({0}), small);
  EXPECT_TENSOR_EQ(small, tc.make({}, {-128}));
  min_unary_out(ctx, ti.zeros({0}), integer);
  EXPECT_TENSOR_EQ(integer, tl.make({}, {INT64_MAX}));
  min_unary_out(ctx, tbool.zeros({0}), truth);
  EXPECT_TENSOR_EQ(truth, tbool.make({}, {true}));
  amax_out(ctx, tf.zeros({0, 3}), {}, false, number);
  expect_failure();  // as before
}

TEST_F(WiderArgumentsTest, BilinearUpsamplingOfIntegers) {
  // Twice as wide: weights 1; 3/4, 1/4; 1/4, 3/4; 1. The results are cut off.
  Tensor ints = ti.zeros({1, 1, 1, 4});
  const int64_t size[] = {1, 4};
  upsample_bilinear2d_vec_out(ctx, ti.make({1, 1, 1, 2}, {100000, -7}), ArrayRef<int64_t>(size, 2), false, std::nullopt,
                              ints);
  EXPECT_TENSOR_EQ(ints, ti.make({1, 1, 1, 4}, {100000, 74998, 24994, -7}));
  Tensor chars = tc.zeros({1, 1, 1, 4});
  upsample_bilinear2d_vec_out(ctx, tc.make({1, 1, 1, 2}, {-10, 100}), ArrayRef<int64_t>(size, 2), false, std::nullopt,
                              chars);
  EXPECT_TENSOR_EQ(chars, tc.make({1, 1, 1, 4}, {-10, 17, 72, 100}));
}

// The numbers are eager's.
TEST_F(WiderArgumentsTest, AntialiasedUpsampling) {
  std::vector<float> squares(24);
  std::vector<uint8_t> bytes(24);
  for (size_t i = 0; i < 24; ++i) {
    squares[i] = static_cast<float>(i * i) / 10.0f;
    bytes[i] = static_cast<uint8_t>(i * 37 % 256);
  }
  const int64_t smaller[] = {2, 3}, mixed[] = {3, 4}, wider[] = {4, 9};
  Tensor out = tf.zeros({1, 1, 2, 3});
  const Tensor in = tf.make({1, 1, 4, 6}, squares);
  _upsample_bilinear2d_aa_out(ctx, in, ArrayRef<int64_t>(smaller, 2), false, std::nullopt, std::nullopt, out);
  EXPECT_TENSOR_CLOSE(
      out, tf.make({1, 1, 2, 3}, {4.31224489f, 6.44285727f, 9.15918446f, 22.63061333f, 28.12857056f, 34.21224594f}));
  Tensor last = tf.zeros_channels_last({1, 1, 2, 3});
  _upsample_bilinear2d_aa_out(ctx, tf.channels_last_like(in), ArrayRef<int64_t>(smaller, 2), false, std::nullopt,
                              std::nullopt, last);
  EXPECT_TENSOR_CLOSE(last, tf.channels_last_like(out));
  _upsample_bilinear2d_aa_out(ctx, in, ArrayRef<int64_t>(smaller, 2), true, std::nullopt, std::nullopt, out);
  EXPECT_TENSOR_CLOSE(
      out, tf.make({1, 1, 2, 3}, {10.67272758f, 15.01600075f, 18.28000069f, 29.77272606f, 37.92399979f, 43.67000198f}));
  Tensor small_bytes = tb.zeros({1, 1, 3, 4}), wide_bytes = tb.zeros({1, 1, 4, 9});
  _upsample_bilinear2d_aa_out(ctx, tb.make({1, 1, 4, 6}, bytes), ArrayRef<int64_t>(mixed, 2), false, std::nullopt,
                              std::nullopt, small_bytes);
  EXPECT_TENSOR_EQ(small_bytes, tb.make({1, 1, 3, 4}, {52, 56, 109, 161, 171, 58, 68, 120, 178, 159, 47, 79}));
  _upsample_bilinear2d_aa_out(ctx, tb.make({1, 1, 4, 6}, bytes), ArrayRef<int64_t>(wider, 2), false, std::nullopt,
                              std::nullopt, wide_bytes);
  EXPECT_TENSOR_EQ(wide_bytes, tb.make({1, 1, 4, 9}, {0,  19, 43,  68,  93,  117, 142, 167, 185, 222, 113, 9,
                                                      34, 59, 83,  108, 133, 151, 188, 207, 188, 43,  25,  49,
                                                      74, 99, 117, 154, 173, 197, 222, 119, 15,  40,  65,  83}));
  _upsample_bicubic2d_aa_out(ctx, in, ArrayRef<int64_t>(smaller, 2), false, std::nullopt, std::nullopt, out);
  EXPECT_TENSOR_CLOSE(
      out, tf.make({1, 1, 2, 3}, {2.59590602f, 4.58528519f, 7.30663252f, 23.51368523f, 29.79024506f, 36.79877472f}));
  _upsample_bicubic2d_aa_out(ctx, in, ArrayRef<int64_t>(smaller, 2), true, std::nullopt, std::nullopt, out);
  EXPECT_TENSOR_CLOSE(
      out, tf.make({1, 1, 2, 3}, {10.12486076f, 14.99423122f, 18.68787956f, 31.78845024f, 41.73670578f, 48.72145462f}));
  _upsample_bicubic2d_aa_out(ctx, tb.make({1, 1, 4, 6}, bytes), ArrayRef<int64_t>(mixed, 2), false, std::nullopt,
                             std::nullopt, small_bytes);
  EXPECT_TENSOR_EQ(small_bytes, tb.make({1, 1, 3, 4}, {40, 49, 116, 168, 184, 44, 65, 123, 182, 178, 32, 77}));
  _upsample_bicubic2d_aa_out(ctx, tb.make({1, 1, 4, 6}, bytes), ArrayRef<int64_t>(wider, 2), false, std::nullopt,
                             std::nullopt, wide_bytes);
  EXPECT_TENSOR_EQ(wide_bytes, tb.make({1, 1, 4, 9}, {0,  15,  43,  68,  93,  117, 142, 170, 187, 236, 117, 0,
                                                      31, 59,  83,  108, 136, 153, 186, 218, 200, 31,  9,   49,
                                                      74, 102, 119, 152, 169, 200, 237, 119, 0,   37,  68,  85}));
  _upsample_bilinear2d_aa_out(ctx, tf.ones({4, 6}), ArrayRef<int64_t>(smaller, 2), false, std::nullopt, std::nullopt,
                              out);
  expect_failure();
}

TEST_F(WiderArgumentsTest, LinearWithABiasThatIsExpanded) {
  const Tensor x = tf.make({2, 2}, {1, 2, 3, 4}), w = tf.make({3, 2}, {1, 0, 0, 1, 1, 1});
  Tensor out = tf.zeros({2, 3});
  linear_out(ctx, x, w, tf.make({1}, {10}), out);
  EXPECT_TENSOR_EQ(out, tf.make({2, 3}, {11, 12, 13, 13, 14, 17}));
  linear_out(ctx, x, w, tf.make({2, 1}, {10, 20}), out);
  EXPECT_TENSOR_EQ(out, tf.make({2, 3}, {11, 12, 13, 23, 24, 27}));
  linear_out(ctx, x, w, tf.make({}, {1}), out);
  EXPECT_TENSOR_EQ(out, tf.make({2, 3}, {2, 3, 4, 4, 5, 8}));
  linear_out(ctx, x, w, tf.make({2, 3}, {1, 2, 3, 4, 5, 6}), out);
  EXPECT_TENSOR_EQ(out, tf.make({2, 3}, {2, 4, 6, 7, 9, 13}));
  linear_out(ctx, x, w, tf.make({2}, {1, 2}), out);
  expect_failure();
}

TEST_F(WiderArgumentsTest, IndexWithoutIndices) {
  const Tensor in = tf.make({2, 2}, {1, 2, 3, 4});
  const std::optional<Tensor> none[] = {std::nullopt, std::nullopt, std::nullopt};
  for (const size_t count : {0, 1, 2}) {
    Tensor out = tf.zeros({2, 2});
    index_Tensor_out(ctx, in, ArrayRef<std::optional<Tensor>>(none, count), out);
    EXPECT_TENSOR_EQ(out, in);
  }
  Tensor out = tf.zeros({2, 2});
  index_Tensor_out(ctx, in, ArrayRef<std::optional<Tensor>>(none, 3), out);
  expect_failure();
}

TEST_F(WiderArgumentsTest, CatIgnoresEmptyTensorsOfOtherShapes) {
  const Tensor all[] = {tf.zeros({0, 10, 3}), tf.ones({1, 2}), tf.zeros({0}), tf.zeros({5, 0}), tf.zeros({3, 2})};
  Tensor out = tf.ones({4, 2});
  cat_out(ctx, {all, 5}, 0, out);
  EXPECT_TENSOR_EQ(out, tf.make({4, 2}, {1, 1, 0, 0, 0, 0, 0, 0}));
  const Tensor empty[] = {tf.zeros({0}), tf.zeros({2, 0}), tf.zeros({2, 0})};
  Tensor none = tf.ones({2, 0});
  cat_out(ctx, {empty, 3}, 1, none);
  EXPECT_TENSOR_EQ(none, tf.zeros({2, 0}));
  const Tensor bad[] = {tf.ones({1, 2}), tf.ones({1, 3})};
  cat_out(ctx, {bad, 2}, 0, out);
  expect_failure();
}

TEST_F(WiderArgumentsTest, FourierTransformsWithoutATemporaryAllocator) {
  TensorFactory<ScalarType::ComplexFloat> tcf;
  const Tensor in = tf.make({2, 4}, {1, 2, 3, 4, 0, 1, 0, -1});
  Tensor spectrum = tcf.zeros({2, 3});
  const int64_t last[] = {1}, both[] = {0, 1};
  _fft_r2c_out(ctx, in, ArrayRef<int64_t>(last, 1), 0, true, spectrum);
  using C = executorch::aten::complex<float>;
  EXPECT_TENSOR_CLOSE(spectrum, tcf.make({2, 3}, {C(10, 0), C(-2, 2), C(-2, 0), C(0, 0), C(0, -2), C(0, 0)}));
  Tensor back = tf.zeros({2, 4});
  _fft_c2r_out(ctx, spectrum, ArrayRef<int64_t>(last, 1), 2, 4, back);
  EXPECT_TENSOR_CLOSE(back, in);
  _fft_r2c_out(ctx, in, ArrayRef<int64_t>(both, 2), 0, true, spectrum);
  _fft_c2r_out(ctx, spectrum, ArrayRef<int64_t>(both, 2), 2, 4, back);
  EXPECT_TENSOR_CLOSE(back, in);
  // A temporary allocator is used if there is one, and may be too small.
  uint8_t pool[8];
  executorch::runtime::MemoryAllocator tiny(sizeof(pool), pool);
  KernelRuntimeContext limited(nullptr, &tiny);
  _fft_r2c_out(limited, in, ArrayRef<int64_t>(last, 1), 0, true, spectrum);
  EXPECT_EQ(limited.failure_state(), Error::MemoryAllocationFailed);
}

// Numbers for which eager reports "cannot be converted without overflow".
class ScalarRangeTest : public WiderArgumentsTest {
 protected:
  template <typename Factory>
  void refuses(Factory& factory, const Scalar& number, bool refused = true) {
    using Call = std::function<void(KernelRuntimeContext&, Tensor&)>;
    const Tensor in = factory.ones({2});
    const int64_t size[] = {2}, padding[] = {1, 0}, cropping[] = {-1, 0};
    const std::pair<const char*, Call> calls[] = {
        {"fill", [&](auto& c, Tensor& out) { fill_scalar_out(c, in, number, out); }},
        {"full", [&](auto& c, Tensor& out) { full_out(c, ArrayRef<int64_t>(size, 1), number, out); }},
        {"full_like", [&](auto& c, Tensor& out) { full_like_out(c, in, number, std::nullopt, out); }},
        {"masked_fill", [&](auto& c, Tensor& out) { masked_fill_scalar_out(c, in, tbool.ones({2}), number, out); }},
        {"scatter", [&](auto& c, Tensor& out) { scatter_value_out(c, in, 0, tl.zeros({1}), number, out); }},
        {"clamp", [&](auto& c, Tensor& out) { clamp_out(c, in, number, std::nullopt, out); }},
        {"clamp", [&](auto& c, Tensor& out) { clamp_out(c, in, std::nullopt, number, out); }},
    };
    for (const auto& [name, call] : calls) {
      Tensor out = factory.ones({2});
      call(ctx, out);
      EXPECT_EQ(ctx.failure_state(), refused ? Error::InvalidArgument : Error::Ok) << name;
      ctx = KernelRuntimeContext();
    }
    Tensor scalar = factory.ones({}), padded = factory.ones({3}), cropped = factory.ones({1});
    scalar_tensor_out(ctx, number, scalar);
    EXPECT_EQ(ctx.failure_state(), refused ? Error::InvalidArgument : Error::Ok);
    ctx = KernelRuntimeContext();
    constant_pad_nd_out(ctx, in, ArrayRef<int64_t>(padding, 2), number, padded);
    EXPECT_EQ(ctx.failure_state(), refused ? Error::InvalidArgument : Error::Ok);
    ctx = KernelRuntimeContext();
    constant_pad_nd_out(ctx, in, ArrayRef<int64_t>(cropping, 2), number, cropped);
    EXPECT_EQ(ctx.failure_state(), Error::Ok) << "nothing is filled";
    Tensor out = factory.ones({2});
    if (in.scalar_type() != ScalarType::Byte && in.scalar_type() != ScalarType::Bool) {
      hardtanh_out(ctx, in, number, Scalar(1), out);
      EXPECT_EQ(ctx.failure_state(), refused ? Error::InvalidArgument : Error::Ok);
      ctx = KernelRuntimeContext();
      hardtanh_out(ctx, in, Scalar(-1), number, out);
      EXPECT_EQ(ctx.failure_state(), refused ? Error::InvalidArgument : Error::Ok);
      ctx = KernelRuntimeContext();
    }
  }

  template <typename Factory>
  void takes(Factory& factory, const Scalar& number) {
    refuses(factory, number, /*refused=*/false);
  }
};

TEST_F(ScalarRangeTest, Integers) {
  refuses(tb, Scalar(256));
  refuses(tb, Scalar(-256));
  refuses(tb, Scalar(-1.0));
  refuses(tb, Scalar(255.5));
  takes(tb, Scalar(255));
  takes(tb, Scalar(-255));
  refuses(tc, Scalar(-129));
  refuses(tc, Scalar(128));
  takes(tc, Scalar(-128));
  takes(tc, Scalar(127));
  refuses(ts, Scalar(-32769));
  refuses(ts, Scalar(32768));
  refuses(ti, Scalar(int64_t{1} << 31));
  takes(ti, Scalar(-(int64_t{1} << 31)));
  refuses(ti, Scalar(double{kNaN}));
  refuses(tl, Scalar(1e19));
  takes(tl, Scalar(INT64_MIN));
  Tensor cut = tb.zeros({1});
  fill_scalar_out(ctx, cut, Scalar(2.5), cut);
  EXPECT_TENSOR_EQ(cut, tb.make({1}, {2}));
  Tensor truth = tbool.zeros({1});
  fill_scalar_out(ctx, truth, Scalar(256), truth);
  EXPECT_TENSOR_EQ(truth, tbool.ones({1}));
}

TEST_F(ScalarRangeTest, FloatingPointNumbers) {
  refuses(tf, Scalar(3.41e55));
  refuses(tf, Scalar(-3.41e55));
  takes(tf, Scalar(double{std::numeric_limits<float>::max()}));
  takes(tf, Scalar(double{-kInfinity}));
  takes(tf, Scalar(double{kNaN}));
  takes(tf, Scalar(INT64_MAX));
  refuses(th, Scalar(70000));
  refuses(th, Scalar(-65520.0));
  takes(th, Scalar(65504.0));
  takes(th, Scalar(double{kInfinity}));
  takes(td, Scalar(1e300));
}

TEST_F(ScalarRangeTest, TheMessageNamesTheNumber) {
  PalSpy spy;
  {
    InterceptWith intercept(spy);
    Tensor out = tb.zeros({1});
    fill_scalar_out(ctx, tb.zeros({1}), Scalar(256), out);
  }
  expect_failure();
  EXPECT_NE(spy.log().find("fill.Scalar_out: the number 256 is beyond the range of Byte"), std::string::npos)
      << spy.log();
}

}  // namespace
}  // namespace torch::executor::native
