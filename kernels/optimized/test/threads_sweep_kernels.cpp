// SPDX-License-Identifier: BSD-3-Clause
// Every kernel of the library at sizes around the grain sizes of threads.
#include "kernels/optimized/test/threads_sweep.h"

#include <executorch/runtime/kernel/thread_parallel_interface.h>
#include <kernels/optimized_native_cpu/NativeFunctions.h>

#include <array>
#include <cstring>
#include <iterator>
#include <set>

#include "kernels/simd/gemm.h"

#ifdef ET_USE_THREADPOOL

namespace torch::executor::native {
namespace {

using ::executorch::aten::IntArrayRef;
using ::executorch::extension::internal::grain_for;
using ::executorch::extension::internal::GRAIN_PRODUCTS;
using ::executorch::extension::internal::GRAIN_SIZE;

int32_t narrow(int64_t value) {
  return static_cast<int32_t>(value);
}

/// Returns each value, its predecessor and its successor, except numbers below 1.
std::vector<int64_t> around(std::initializer_list<int64_t> values) {
  std::set<int64_t> found;
  for (const int64_t value : values) {
    for (const int64_t near : {value - 1, value, value + 1}) {
      if (near > 0) {
        found.insert(near);
      }
    }
  }
  return {found.begin(), found.end()};
}

std::string text(std::initializer_list<int64_t> sizes) {
  std::string joined;
  for (const int64_t size : sizes) {
    joined += (joined.empty() ? "" : " x ") + std::to_string(size);
  }
  return joined;
}

/// Numbers of elements around those at which one, two, three and eight threads share the work.
std::vector<int64_t> element_counts() {
  std::vector<int64_t> counts = {1, 7};
  const std::vector<int64_t> shared = around({2 * GRAIN_SIZE, 3 * GRAIN_SIZE, 8 * GRAIN_SIZE});
  counts.insert(counts.end(), shared.begin(), shared.end());
  return counts;
}

using Unary = Tensor& (*)(KernelRuntimeContext&, const Tensor&, Tensor&);

void unary(Calls& calls, const std::function<void(KernelRuntimeContext&, const Tensor&, Tensor&)>& kernel) {
  for (const int64_t count : element_counts()) {
    const Tensor in = calls.positive({narrow(count)}, 1);
    calls.add(text({count}), {narrow(count)},
              [=](KernelRuntimeContext& ctx, Tensor& out, size_t) { kernel(ctx, in, out); });
  }
}

template <Unary Kernel>
void plain(Calls& calls) {
  unary(calls, [](KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) { Kernel(ctx, in, out); });
}

/// Adds calls with tensors of the same size, and with a row or a column that is broadcast.
void binary(Calls& calls,
            const std::function<void(KernelRuntimeContext&, const Tensor&, const Tensor&, Tensor&)>& kernel) {
  const auto add = [&](const Sizes& left, const Sizes& right, const Sizes& out) {
    const Tensor a = calls.values(left, 1), b = calls.positive(right, 2);
    calls.add(text({left[0], right[0], out[0]}), out,
              [=](KernelRuntimeContext& ctx, Tensor& to, size_t) { kernel(ctx, a, b, to); });
  };
  for (const int64_t count : element_counts()) {
    add({narrow(count)}, {narrow(count)}, {narrow(count)});
  }
  for (const int64_t rows : around({grain_for(2 * GRAIN_SIZE, {257})})) {
    const Sizes whole = {narrow(rows), 257};
    add(whole, {257}, whole);
    add({narrow(rows), 1}, whole, whole);
  }
}

template <typename Add>
void products(const Add& add) {
  constexpr int64_t kPanel = kGemmMaxPanelWidth, kRows = kGemmRowUnit;
  std::set<std::array<int64_t, 3>> sizes;
  for (const int64_t m : {int64_t{1}, kRows - 1, kRows + 1, 3 * kRows + 1}) {
    for (const int64_t n : {int64_t{1}, kPanel, kPanel + 1, 4 * kPanel + 1}) {
      // Depths around those at which a thread gets kRows rows, or kPanel columns.
      for (const int64_t k : around({grain_for(GRAIN_PRODUCTS, {kRows, n}), grain_for(GRAIN_PRODUCTS, {kPanel, m})})) {
        if (m * n * k <= 16 * GRAIN_PRODUCTS) {
          sizes.insert({m, n, k});
        }
      }
    }
  }
  for (const auto& [m, n, k] : sizes) {
    add(narrow(m), narrow(n), narrow(k));
  }
}

void batches(Calls& calls,
             const std::function<void(KernelRuntimeContext&, const Tensor&, const Tensor&, Tensor&)>& kernel) {
  const auto add = [&](int64_t batch, int64_t m, int64_t k, int64_t n) {
    const Tensor a = calls.values({narrow(batch), narrow(m), narrow(k)}, 1);
    const Tensor b = calls.values({narrow(batch), narrow(k), narrow(n)}, 2);
    calls.add(text({batch, m, k, n}), {narrow(batch), narrow(m), narrow(n)},
              [=](KernelRuntimeContext& ctx, Tensor& out, size_t) { kernel(ctx, a, b, out); });
  };
  for (const int64_t batch : {1, 2, 3, 8, 12}) {
    for (const int64_t n : around({grain_for(GRAIN_PRODUCTS, {40, 50}), grain_for(2 * GRAIN_PRODUCTS, {40, 50})})) {
      add(batch, 40, 50, n);
    }
    add(batch, 70, 64, 70);  // each product is large enough for a thread
    add(batch, 24, 16, 4096);
    add(batch, 5, 3, 7);
  }
}

/// Numbers of rows around those at which one, two and eight threads share the work, for narrow and wide rows. The work
/// of a row is `factor` times its width.
std::vector<std::array<int64_t, 2>> rows_of(int64_t factor) {
  std::vector<std::array<int64_t, 2>> found;
  for (const int64_t width : {1, 64, 1003}) {
    const int64_t grain = grain_for(GRAIN_SIZE, {factor, width});
    for (const int64_t rows : around({grain, 2 * grain, 8 * grain})) {
      found.push_back({rows, width});
    }
  }
  return found;
}

using Softmax = Tensor& (*)(KernelRuntimeContext&, const Tensor&, int64_t, bool, Tensor&);

template <Softmax Kernel>
void softmax(Calls& calls) {
  for (const auto& [rows, width] : rows_of(8)) {
    const Sizes sizes = {narrow(rows), narrow(width)};
    const Tensor in = calls.values(sizes, 1);
    calls.add(text({rows, width}), sizes,
              [=](KernelRuntimeContext& ctx, Tensor& out, size_t) { Kernel(ctx, in, 1, false, out); });
  }
}

void layer_norm(Calls& calls) {
  for (const auto& [rows, width] : rows_of(1)) {
    const Sizes sizes = {narrow(rows), narrow(width)};
    const Tensor in = calls.values(sizes, 1), weight = calls.values({sizes[1]}, 2), bias = calls.values({sizes[1]}, 3);
    const std::vector<Tensor> statistics = {calls.zeros({sizes[0], 1}), calls.zeros({sizes[0], 1}),
                                            calls.zeros({sizes[0], 1}), calls.zeros({sizes[0], 1})};
    calls.add(text({rows, width}), sizes,
              [=, normalized = width](KernelRuntimeContext& ctx, Tensor& out, size_t number) {
                Tensor mean = statistics[2 * number], rstd = statistics[2 * number + 1];
                opt_native_layer_norm_out(ctx, in, IntArrayRef(&normalized, 1), weight, bias, 1e-5, out, mean, rstd);
              });
  }
}

void group_norm(Calls& calls) {
  constexpr int64_t kChannels = 8, kGroups = 4, kPixels = 60;
  const int64_t grain = grain_for(GRAIN_SIZE, {kChannels / kGroups * kPixels});
  for (const int64_t batch : around({grain / kGroups, 2 * grain / kGroups, 8 * grain / kGroups})) {
    const Sizes sizes = {narrow(batch), kChannels, 6, 10};
    const Tensor in = calls.values(sizes, 1), weight = calls.values({kChannels}, 2),
                 bias = calls.values({kChannels}, 3);
    std::vector<Tensor> statistics;
    for (size_t i = 0; i < 2 * kNested; ++i) {
      statistics.push_back(calls.zeros({sizes[0], kGroups}));
    }
    calls.add(text({batch, kChannels, 6, 10}), sizes, [=](KernelRuntimeContext& ctx, Tensor& out, size_t number) {
      Tensor mean = statistics[2 * number], rstd = statistics[2 * number + 1];
      opt_native_group_norm_out(ctx, in, weight, bias, batch, kChannels, kPixels, kGroups, 1e-5, out, mean, rstd);
    });
  }
}

void batch_norm(Calls& calls) {
  const auto add = [&](const Sizes& sizes, bool is_last) {
    const Tensor in = is_last ? calls.channels_last(sizes, 1) : calls.values(sizes, 1);
    const Sizes channels = {sizes[1]};
    const Tensor weight = calls.values(channels, 2), bias = calls.values(channels, 3);
    const Tensor mean = calls.values(channels, 4), variance = calls.positive(channels, 5);
    std::vector<Tensor> outs, unused;
    for (size_t i = 0; i < kNested; ++i) {
      outs.push_back(is_last ? calls.channels_last(sizes, 6) : calls.zeros(sizes));
      unused.push_back(calls.zeros({0}));
      unused.push_back(calls.zeros({0}));
    }
    calls.add(text({sizes[0], sizes[1], sizes[2], sizes[3]}) + (is_last ? ", channels last" : ""), sizes,
              [=](KernelRuntimeContext& ctx, Tensor& out, size_t number) {
                Tensor to = outs[number], a = unused[2 * number], b = unused[2 * number + 1];
                opt_native_batch_norm_legit_no_training_out(ctx, in, weight, bias, mean, variance, 0.1, 1e-5, to, a, b);
                std::memcpy(out.mutable_data_ptr(), to.const_data_ptr(), to.nbytes());
              });
  };
  const int64_t planes = grain_for(GRAIN_SIZE, {30});
  for (const int64_t channels : around({planes, 2 * planes})) {
    add({1, narrow(channels), 5, 6}, false);
  }
  // Two blocks of channels.
  for (const int64_t pixels : around({grain_for(GRAIN_SIZE, {256}), 3 * grain_for(GRAIN_SIZE, {256})})) {
    add({1, 300, 1, narrow(pixels)}, true);
  }
}

/// Adds calls with numbers of planes, and of pixels, around the grain size.
void pooling(Calls& calls, bool is_max) {
  const auto add = [&](const Sizes& in_sizes, bool is_last) {
    const Sizes sizes = {in_sizes[0], in_sizes[1], in_sizes[2] / 2, in_sizes[3] / 2};
    const Tensor in = is_last ? calls.channels_last(in_sizes, 1) : calls.values(in_sizes, 1);
    std::vector<Tensor> outs, places;
    for (size_t i = 0; i < kNested; ++i) {
      outs.push_back(is_last ? calls.channels_last(sizes, 2) : calls.zeros(sizes));
      places.push_back(calls.indices(sizes));
    }
    calls.add(text({in_sizes[0], in_sizes[1], in_sizes[2], in_sizes[3]}) + (is_last ? ", channels last" : ""), sizes,
              [=](KernelRuntimeContext& ctx, Tensor& out, size_t number) {
                const int64_t two[] = {2, 2}, zero[] = {0, 0}, one[] = {1, 1};
                const IntArrayRef kernel(two, 2), padding(zero, 2), dilation(one, 2);
                Tensor to = outs[number], indices = places[number];
                if (is_max) {
                  opt_max_pool2d_with_indices_out(ctx, in, kernel, kernel, padding, dilation, false, to, indices);
                } else {
                  opt_avg_pool2d_out(ctx, in, kernel, kernel, padding, false, true, std::nullopt, to);
                }
                std::memcpy(out.mutable_data_ptr(), to.const_data_ptr(), to.nbytes());
              });
  };
  const int64_t rows = grain_for(GRAIN_SIZE, {64, 2, 2});
  for (const int64_t planes : around({rows / 4, rows / 2, 2 * rows})) {
    add({1, narrow(planes), 8, 128}, false);
    if (!is_max) {  // the indices of a maximum would have to be channels last, too
      add({1, 64, 8, narrow(planes)}, true);
    }
  }
}

/// Adds calls with numbers of rows around the grain size.
void pooling_of_volumes(Calls& calls) {
  const int64_t rows = grain_for(GRAIN_SIZE, {32, 2, 2, 2});
  for (const int64_t channels : around({rows / 8, rows / 4, rows})) {
    const int32_t c = narrow(channels);
    const Sizes sizes = {1, c, 2, 4, 32};
    const Tensor in = calls.values({1, c, 4, 8, 64}, 1);
    std::vector<Tensor> places;
    for (size_t i = 0; i < kNested; ++i) {
      places.push_back(calls.indices(sizes));
    }
    calls.add(text({1, c, 4, 8, 64}), sizes, [=](KernelRuntimeContext& ctx, Tensor& out, size_t number) {
      const int64_t two = 2, zero = 0, one = 1;
      Tensor indices = places[number];
      opt_max_pool3d_with_indices_out(ctx, in, IntArrayRef(&two, 1), {}, IntArrayRef(&zero, 1), IntArrayRef(&one, 1),
                                      false, out, indices);
    });
  }
}

struct Shape {
  Sizes in, weight, out;
  int64_t stride, padding, groups;
  bool transposed;
};

void convolution(Calls& calls) {
  std::vector<Shape> shapes;
  for (const int64_t planes :
       around({grain_for(GRAIN_PRODUCTS, {33 * 35, 9}), grain_for(2 * GRAIN_PRODUCTS, {33 * 35, 9})})) {
    const int32_t channels = narrow(planes);
    shapes.push_back({{1, channels, 33, 35}, {channels, 1, 3, 3}, {1, channels, 33, 35}, 1, 1, planes, false});
  }
  for (const int64_t channels : around({kGemmRowUnit, 3 * kGemmRowUnit})) {
    const int32_t out = narrow(channels);
    shapes.push_back({{1, 16, 33, 35}, {out, 16, 3, 3}, {1, out, 33, 35}, 1, 1, 1, false});
    shapes.push_back({{2, 40, 17, 19}, {out, 40, 1, 1}, {2, out, 17, 19}, 1, 0, 1, false});
    shapes.push_back({{1, 128, 5, 70}, {128, out, 2, 2}, {1, out, 10, 140}, 2, 0, 1, true});
    shapes.push_back({{2, 32, 9, 10}, {out / 2 * 2, 16, 3, 3}, {2, out / 2 * 2, 9, 10}, 1, 1, 2, false});
  }
  for (const Shape& shape : shapes) {
    const Tensor in = calls.values(shape.in, 1), weight = calls.values(shape.weight, 2);
    const Tensor bias = calls.values({shape.out[1]}, 3);
    calls.add(text({shape.in[0], shape.in[1], shape.in[2], shape.in[3]}) + " to " + std::to_string(shape.out[1]),
              shape.out, [=](KernelRuntimeContext& ctx, Tensor& out, size_t) {
                const int64_t one = 1, zero = 0;
                opt_convolution_out(ctx, in, weight, bias, IntArrayRef(&shape.stride, 1),
                                    IntArrayRef(&shape.padding, 1), IntArrayRef(&one, 1), shape.transposed,
                                    IntArrayRef(&zero, 1), shape.groups, out);
              });
  }
}
#define WITH_NUMBER(function, ...)                                                                                \
  [](Calls& calls) {                                                                                              \
    unary(calls,                                                                                                  \
          [](KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) { function(ctx, in, __VA_ARGS__, out); }); \
  }
#define OF_TWO(function, ...)                                                                    \
  [](Calls& calls) {                                                                             \
    binary(calls, [](KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) { \
      function(ctx, a, b, ##__VA_ARGS__, out);                                                   \
    });                                                                                          \
  }

constexpr SweptKernel kKernels[] = {
    {"aten::exp.out", plain<opt_exp_out>},
    {"aten::relu.out", plain<opt_relu_out>},
    {"aten::rsqrt.out", plain<opt_rsqrt_out>},
    {"aten::sigmoid.out", plain<opt_sigmoid_out>},
    {"aten::sqrt.out", plain<opt_sqrt_out>},
    {"aten::tanh.out", plain<opt_tanh_out>},
    {"aten::gelu.out", WITH_NUMBER(opt_gelu_out, "none")},
    {"aten::clamp.out", WITH_NUMBER(opt_clamp_out, Scalar(0.7), Scalar(1.9))},
    {"aten::hardtanh.out", WITH_NUMBER(opt_hardtanh_out, 0.7, 1.9)},
    {"aten::pow.Tensor_Scalar_out", WITH_NUMBER(opt_pow_Tensor_Scalar_out, 2)},
    {"aten::add.Scalar_out", WITH_NUMBER(opt_add_scalar_out, 1.5, 0.3)},
    {"aten::sub.Scalar_out", WITH_NUMBER(opt_sub_scalar_out, 1.5, 0.3)},
    {"aten::mul.Scalar_out", WITH_NUMBER(opt_mul_scalar_out, 1.3)},
    {"aten::div.Scalar_out", WITH_NUMBER(opt_div_scalar_out, 1.3)},
    {"aten::add.out", OF_TWO(opt_add_out, 0.3)},
    {"aten::sub.out", OF_TWO(opt_sub_out, 0.3)},
    {"aten::mul.out", OF_TWO(opt_mul_out)},
    {"aten::div.out", OF_TWO(opt_div_out)},
    {"aten::_softmax.out", softmax<opt_softmax_out>},
    {"aten::_log_softmax.out", softmax<opt_log_softmax_out>},
    {"aten::native_layer_norm.out", layer_norm},
    {"aten::native_group_norm.out", group_norm},
    {"aten::_native_batch_norm_legit_no_training.out", batch_norm},
    {"aten::avg_pool2d.out", [](Calls& calls) { pooling(calls, false); }},
    {"aten::max_pool2d_with_indices.out", [](Calls& calls) { pooling(calls, true); }},
    {"aten::max_pool3d_with_indices.out", pooling_of_volumes},
    {"aten::convolution.out", convolution},
    {"aten::mm.out",
     [](Calls& calls) {
       products([&](int32_t m, int32_t n, int32_t k) {
         const Tensor a = calls.values({m, k}, 1), b = calls.values({k, n}, 2);
         calls.add(text({m, k, n}), {m, n},
                   [=](KernelRuntimeContext& ctx, Tensor& out, size_t) { opt_mm_out(ctx, a, b, out); });
       });
     }},
    {"aten::addmm.out",
     [](Calls& calls) {
       products([&](int32_t m, int32_t n, int32_t k) {
         const Tensor a = calls.values({m, k}, 1), b = calls.values({k, n}, 2), added = calls.values({m, n}, 3);
         calls.add(text({m, k, n}), {m, n}, [=](KernelRuntimeContext& ctx, Tensor& out, size_t) {
           opt_addmm_out(ctx, added, a, b, 0.3, 0.7, out);
         });
       });
     }},
    {"aten::linear.out",
     [](Calls& calls) {
       products([&](int32_t m, int32_t n, int32_t k) {
         const Tensor a = calls.values({m, k}, 1), weight = calls.values({n, k}, 2), bias = calls.values({n}, 3);
         calls.add(text({m, k, n}), {m, n},
                   [=](KernelRuntimeContext& ctx, Tensor& out, size_t) { opt_linear_out(ctx, a, weight, bias, out); });
       });
     }},
    {"moe_ops::grouped_mm.out",
     [](Calls& calls) {
       products([&](int32_t m, int32_t n, int32_t k) {
         const Tensor a = calls.values({m, k}, 1), b = calls.values({2, k, n}, 2);
         Tensor offs = calls.indices({2});
         offs.mutable_data_ptr<int64_t>()[0] = m / 3;
         offs.mutable_data_ptr<int64_t>()[1] = m;
         calls.add(text({m, k, n}), {m, n},
                   [=](KernelRuntimeContext& ctx, Tensor& out, size_t) { opt_grouped_mm_out(ctx, a, b, offs, out); });
       });
     }},
    {"aten::bmm.out",
     [](Calls& calls) {
       batches(calls, [](KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
         opt_bmm_out(ctx, a, b, out);
       });
     }},
    {"aten::baddbmm.out",
     [](Calls& calls) {
       batches(calls, [](KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
         opt_baddbmm_out(ctx, a, a, b, 0, 0.7, out);  // beta 0: the addend is not read
       });
     }},
};

}  // namespace

ArrayRef<SweptKernel> swept_kernels() {
  return {kKernels, std::size(kKernels)};
}

}  // namespace torch::executor::native
#endif
