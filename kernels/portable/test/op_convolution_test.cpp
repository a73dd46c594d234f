// SPDX-License-Identifier: BSD-3-Clause
#include "kernel_test.h"

namespace torch::executor::native {
namespace {

using Ints = std::vector<int64_t>;

struct Case {
  std::vector<int32_t> in, weight;
  Ints stride, padding, dilation;
  int64_t groups;
  bool transposed;
  Ints output_padding;
};

// The definition, by scattering every input element to the outputs it contributes to (transposed) or by gathering, in
// double.
std::vector<double> expected(const Case& c, const std::vector<float>& in, const std::vector<float>& weight,
                             const std::vector<float>& bias, std::vector<int32_t>* sizes) {
  const auto three = [&](const std::vector<int32_t>& s, int d) {
    const int missing = 5 - static_cast<int>(s.size());
    return static_cast<int64_t>(d < missing ? 1 : s[static_cast<size_t>(2 + d - missing)]);
  };
  const auto param = [&](const Ints& p, int d, int64_t none) {
    const int missing = 5 - static_cast<int>(c.in.size());
    return d < missing ? none : p[p.size() == 1 ? 0 : static_cast<size_t>(d - missing)];
  };
  int64_t size[3], kernel[3], stride[3], padding[3], dilation[3], out[3];
  for (int d = 0; d < 3; ++d) {
    size[d] = three(c.in, d);
    kernel[d] = three(c.weight, d);
    stride[d] = param(c.stride, d, 1);
    padding[d] = param(c.padding, d, 0);
    dilation[d] = param(c.dilation, d, 1);
    const int64_t reach = dilation[d] * (kernel[d] - 1) + 1;
    out[d] = c.transposed ? (size[d] - 1) * stride[d] - 2 * padding[d] + reach + param(c.output_padding, d, 0)
                          : (size[d] + 2 * padding[d] - reach) / stride[d] + 1;
  }
  const int64_t batch = c.in[0], in_channels = c.in[1];
  const int64_t out_channels = c.transposed ? c.weight[1] * c.groups : c.weight[0];
  const int64_t in_group = in_channels / c.groups, out_group = out_channels / c.groups;
  *sizes = {c.in[0], static_cast<int32_t>(out_channels)};
  for (size_t d = 5 - c.in.size(); d < 3; ++d) {
    sizes->push_back(static_cast<int32_t>(out[d]));
  }
  const int64_t pixels = out[0] * out[1] * out[2];
  std::vector<double> result(static_cast<size_t>(batch * out_channels * pixels));
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] = bias.empty() ? 0.0 : bias[i / static_cast<size_t>(pixels) % static_cast<size_t>(out_channels)];
  }
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t oc = 0; oc < out_channels; ++oc)
      for (int64_t g = oc / out_group, i = 0; i < in_group; ++i)
        for (int64_t kd = 0; kd < kernel[0]; ++kd)
          for (int64_t kh = 0; kh < kernel[1]; ++kh)
            for (int64_t kw = 0; kw < kernel[2]; ++kw)
              for (int64_t x = 0; x < size[0] * size[1] * size[2]; ++x) {
                const int64_t ic = g * in_group + i;
                const int64_t at[3] = {x / (size[1] * size[2]), x / size[2] % size[1], x % size[2]};
                const int64_t k[3] = {kd, kh, kw};
                int64_t to[3];
                bool inside = true;
                for (int d = 0; d < 3; ++d) {
                  int64_t t;
                  if (c.transposed) {
                    t = at[d] * stride[d] - padding[d] + k[d] * dilation[d];
                  } else {
                    t = at[d] + padding[d] - k[d] * dilation[d];
                    inside = inside && t % stride[d] == 0;
                    t /= stride[d];
                    inside = inside && at[d] + padding[d] - k[d] * dilation[d] >= 0;
                  }
                  inside = inside && t >= 0 && t < out[d];
                  to[d] = t;
                }
                if (!inside) continue;
                const int64_t first = c.transposed ? ic : oc, second = c.transposed ? oc % out_group : i;
                const int64_t w = (((first * c.weight[1] + second) * kernel[0] + kd) * kernel[1] + kh) * kernel[2] + kw;
                result[static_cast<size_t>((n * out_channels + oc) * pixels + (to[0] * out[1] + to[1]) * out[2] +
                                           to[2])] +=
                    static_cast<double>(weight[static_cast<size_t>(w)]) *
                    in[static_cast<size_t>((n * in_channels + ic) * size[0] * size[1] * size[2] + x)];
              }
  return result;
}

size_t numel(const std::vector<int32_t>& sizes) {
  size_t count = 1;
  for (int32_t s : sizes) count *= static_cast<size_t>(s);
  return count;
}

class ConvolutionTest : public KernelTest {
 protected:
  template <ScalarType kType>
  Tensor run(const Case& c, const Tensor& in, const Tensor& weight, const std::optional<Tensor>& bias, Tensor out) {
    convolution_out(ctx, in, weight, bias, {c.stride.data(), c.stride.size()}, {c.padding.data(), c.padding.size()},
                    {c.dilation.data(), c.dilation.size()}, c.transposed,
                    {c.output_padding.data(), c.output_padding.size()}, c.groups, out);
    return out;
  }

  template <ScalarType kType>
  void check(const Case& c, bool with_bias, bool channels_last_in, bool channels_last_weight, bool channels_last_out) {
    using T = typename TensorFactory<kType>::ctype;
    TensorFactory<kType> tf;
    const std::vector<float> x = sample_values(numel(c.in)), w = sample_values(numel(c.weight), 5);
    const size_t out_channels = static_cast<size_t>(c.transposed ? c.weight[1] * c.groups : c.weight[0]);
    const std::vector<float> b = with_bias ? sample_values(out_channels, 3) : std::vector<float>();
    std::vector<int32_t> sizes;
    const std::vector<double> want = expected(c, x, w, b, &sizes);
    Tensor in = tf.make(c.in, std::vector<T>(x.begin(), x.end()));
    Tensor weight = tf.make(c.weight, std::vector<T>(w.begin(), w.end()));
    Tensor out = channels_last_out ? tf.full_channels_last(sizes, T(7)) : tf.full(sizes, T(7));
    std::optional<Tensor> bias;
    if (with_bias) bias = tf.make({static_cast<int32_t>(out_channels)}, std::vector<T>(b.begin(), b.end()));
    run<kType>(c, channels_last_in ? tf.channels_last_like(in) : in,
               channels_last_weight ? tf.channels_last_like(weight) : weight, bias, out);
    Tensor reference = tf.make(sizes, std::vector<T>(want.begin(), want.end()));
    EXPECT_TENSOR_CLOSE_WITH_TOL(out, channels_last_out ? tf.channels_last_like(reference) : reference, 1e-5, 1e-5);
  }
};

const Case kCases[] = {
    {{1, 3, 9, 11}, {5, 3, 3, 3}, {1}, {1}, {1}, 1, false, {0}},              // general
    {{2, 4, 7, 20}, {6, 4, 3, 2}, {2, 3}, {1, 0}, {1, 2}, 1, false, {0, 0}},  // strided, dilated, rectangular
    {{2, 5, 6, 7}, {19, 5, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 1, false, {0}},     // pointwise
    {{1, 70, 4, 5}, {9, 70, 1, 1}, {2, 2}, {0, 0}, {1, 1}, 1, false, {0}},    // pointwise, strided
    {{1, 2, 5, 5}, {3, 2, 1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, false, {0}},      // pointwise, padded
    {{1, 300, 3, 3}, {4, 300, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1, false, {0}},  // more taps than a panel holds
    {{2, 6, 9, 17}, {6, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 6, false, {0}},     // depthwise
    {{1, 70, 8, 9}, {70, 1, 5, 3}, {2, 2}, {2, 1}, {1, 1}, 70, false, {0}},   // depthwise, strided
    {{1, 3, 10, 10}, {6, 1, 3, 3}, {3, 3}, {2, 2}, {2, 2}, 3, false, {0}},    // two filters per channel, dilated
    {{1, 2, 6, 6}, {10, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 2, false, {0}},     // five filters per channel
    {{1, 1, 4, 300}, {1, 1, 1, 3}, {1, 1}, {0, 1}, {1, 1}, 1, false, {0}},    // a row longer than a chunk
    {{1, 8, 6, 5}, {12, 2, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 4, false, {0}},     // groups
    {{2, 4, 5, 4}, {4, 3, 3, 3}, {2, 2}, {1, 1}, {1, 1}, 1, true, {1, 1}},    // transposed
    {{1, 4, 5, 4}, {4, 2, 2, 3}, {3, 1}, {0, 1}, {2, 1}, 2, true, {0, 0}},    // transposed, groups
    {{1, 6, 4, 4}, {6, 1, 4, 4}, {2, 2}, {1, 1}, {1, 1}, 6, true, {0, 0}},    // transposed, depthwise
    {{1, 3, 1, 1}, {2, 3, 1, 1}, {1}, {0}, {1}, 1, false, {0}},               // one pixel
};

TEST_F(ConvolutionTest, MatchesDefinition) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(::testing::Message() << "case " << (&c - kCases));
    for (bool bias : {false, true}) {
      check<ScalarType::Float>(c, bias, false, false, false);
      check<ScalarType::Double>(c, bias, false, false, false);
    }
  }
}

TEST_F(ConvolutionTest, MatchesDefinitionInEveryDimOrder) {
  for (const Case& c : kCases) {
    for (int layout = 1; layout < 8; ++layout) {
      SCOPED_TRACE(::testing::Message() << "case " << (&c - kCases) << " layout " << layout);
      check<ScalarType::Float>(c, true, (layout & 1) != 0, (layout & 2) != 0, (layout & 4) != 0);
    }
  }
}

TEST_F(ConvolutionTest, OneAndThreeSpatialDimensions) {
  check<ScalarType::Float>({{2, 4, 9}, {6, 2, 3}, {2}, {1}, {1}, 2, false, {0}}, true, false, false, false);
  check<ScalarType::Float>({{2, 4, 9}, {4, 3, 3}, {2}, {1}, {1}, 1, true, {1}}, true, false, false, false);
  check<ScalarType::Float>({{1, 4, 9}, {4, 1, 3}, {1}, {2}, {2}, 4, false, {0}}, true, false, false, false);
  const Case volume{{1, 2, 4, 5, 6}, {3, 2, 2, 3, 2}, {1, 2, 1}, {1, 0, 1}, {1, 1, 2}, 1, false, {0}};
  check<ScalarType::Float>(volume, true, false, false, false);
  check<ScalarType::Float>(volume, true, true, false, true);
  check<ScalarType::Float>({{1, 2, 3, 3, 4}, {2, 1, 3, 3, 3}, {1}, {1}, {1}, 2, false, {0}}, true, false, false, false);
  check<ScalarType::Float>({{1, 2, 3, 3, 2}, {2, 2, 2, 3, 2}, {2, 1, 2}, {1, 0, 0}, {1}, 1, true, {1, 0, 1}}, true,
                           false, false, false);
}

TEST_F(ConvolutionTest, PyTorchNumbers) {
  TensorFactory<ScalarType::Float> tf;
  const Case c{{1, 2, 4, 5}, {3, 2, 3, 2}, {2, 1}, {1, 0}, {1, 2}, 1, false, {0}};
  Tensor out = tf.zeros({1, 3, 2, 3});
  run<ScalarType::Float>(c, tf.make(c.in, sample_values(40)), tf.make(c.weight, sample_values(36, 3)),
                         tf.make({3}, {0.5f, -1.0f, 2.0f}), out);
  EXPECT_TENSOR_CLOSE(out, tf.make({1, 3, 2, 3}, {-0.5625, 1.125, -0.4375, -0.6875, -0.375, 2.375, -2.25, 0.125, -2.375,
                                                  -2.25, -1.3125, -3.625, 0.5625, 3.625, 0.1875, 1.5, -2.625, 5.4375}));
}

TEST_F(ConvolutionTest, HalfPrecisionAccumulatesInFloat) {
  TensorFactory<ScalarType::Half> tf;
  // 4096 + 1 is not a Half; a sum of Halves would stay at 2048.
  const Case c{{1, 4096, 1, 1}, {1, 4096, 1, 1}, {1}, {0}, {1}, 1, false, {0}};
  Tensor out = tf.zeros({1, 1, 1, 1});
  run<ScalarType::Half>(c, tf.ones(c.in), tf.ones(c.weight), {}, out);
  EXPECT_TENSOR_EQ(out, tf.full({1, 1, 1, 1}, 4096));
}

TEST_F(ConvolutionTest, NaNAndInfinityReachOnlyWhatReadsThem) {
  TensorFactory<ScalarType::Float> tf;
  std::vector<float> values(25, 1.0f);
  values[12] = kNaN;
  const Case c{{1, 1, 5, 5}, {1, 1, 1, 3}, {1, 1}, {0, 1}, {1, 1}, 1, false, {0}};
  Tensor out = tf.zeros({1, 1, 5, 5});
  run<ScalarType::Float>(c, tf.make(c.in, values), tf.ones(c.weight), {}, out);
  for (int i = 0; i < 25; ++i) {
    EXPECT_EQ(std::isnan(out.const_data_ptr<float>()[i]), i >= 11 && i <= 13) << i;
  }
}

TEST_F(ConvolutionTest, EmptyBatch) {
  TensorFactory<ScalarType::Float> tf;
  const Case c{{0, 3, 4, 4}, {2, 3, 3, 3}, {1}, {0}, {1}, 1, false, {0}};
  Tensor out = tf.zeros({0, 2, 2, 2});
  run<ScalarType::Float>(c, tf.zeros(c.in), tf.ones(c.weight), {}, out);
}

TEST_F(ConvolutionTest, BadArgumentsFail) {
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Double> td;
  Tensor out = tf.zeros({1, 2, 2, 2});
  const Tensor in = tf.ones({1, 4, 4, 4}), weight = tf.ones({2, 4, 3, 3});
  const Case good{{}, {}, {1}, {0}, {1}, 1, false, {0}};
  const auto fails = [&](Case c, const Tensor& x, const Tensor& w, std::optional<Tensor> b, Tensor y) {
    run<ScalarType::Float>(c, x, w, b, y);
    expect_failure();
  };
  Case c = good;
  c.groups = 0;
  fails(c, in, weight, {}, out);
  c = good;
  c.groups = 3;
  fails(c, in, weight, {}, out);
  for (int64_t bad : {int64_t(0), int64_t(-1), std::numeric_limits<int64_t>::max()}) {
    c = good;
    c.stride = {bad};
    fails(c, in, weight, {}, out);
    c = good;
    c.dilation = {bad};
    fails(c, in, weight, {}, out);
  }
  c = good;
  c.padding = {-1, 0};
  fails(c, in, weight, {}, out);
  c = good;
  c.stride = {1, 1, 1};
  fails(c, in, weight, {}, out);
  c = good;
  c.stride = {};
  fails(c, in, weight, {}, out);
  fails(good, in, tf.ones({2, 4, 5, 3}), {}, out);      // kernel larger than the input
  fails(good, in, tf.ones({2, 3, 3, 3}), {}, out);      // channels
  fails(good, in, tf.ones({2, 4, 3}), {}, out);         // rank
  fails(good, tf.ones({4, 4}), weight, {}, out);        // rank
  fails(good, in, td.ones({2, 4, 3, 3}), {}, out);      // dtype
  fails(good, in, weight, tf.ones({3}), out);           // bias
  fails(good, in, weight, {}, tf.zeros({1, 2, 3, 2}));  // output's sizes
  fails(good, in, tf.zeros({2, 4, 0, 3}), {}, out);     // empty kernel
}

}  // namespace
}  // namespace torch::executor::native
