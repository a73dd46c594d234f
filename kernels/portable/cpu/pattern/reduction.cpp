// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/portable/cpu/pattern/reduction.h"

#include <algorithm>
#include <cstdlib>

#include "kernels/portable/cpu/pattern/block_reader.h"

namespace torch::executor::native {
namespace {

// The number of rows that are added to a partial result before it is merged into the (wider) total.
constexpr int64_t kFlushPeriod = 64;

// Strides of `out` for the dimensions of `in`; 0 for reduced dimensions, which `out` may have with size 1 or not at
// all.
void out_strides_of(const Tensor& in, const ReducedDims& reduced, const Tensor& out, int64_t* strides) {
  const bool kept = out.dim() == in.dim();
  size_t out_dim = 0;
  for (size_t d = 0; d < static_cast<size_t>(in.dim()); ++d) {
    const bool has_dim = kept || !reduced.is_reduced[d];
    strides[d] = reduced.is_reduced[d] ? 0 : out.strides()[out_dim];
    out_dim += has_dim ? 1 : 0;
  }
}

}  // namespace

bool parse_reduced_dims(KernelRuntimeContext& ctx, const char* op, const Tensor& in,
                        const OptionalArrayRef<int64_t>& dims, ReducedDims* reduced) {
  const int64_t rank = in.dim();
  const bool all = !dims.has_value() || dims->empty();
  std::fill(std::begin(reduced->is_reduced), std::end(reduced->is_reduced), all);
  reduced->count = 1;
  for (size_t i = 0; !all && i < dims->size(); ++i) {
    const int64_t dim = (*dims)[i];
    const int64_t limit = std::max<int64_t>(rank, 1);
    ET_KERNEL_CHECK_MSG(ctx, dim >= -limit && dim < limit, InvalidArgument, false,
                        "%s: dimension %lld is out of range; expected %lld to %lld", op, static_cast<long long>(dim),
                        static_cast<long long>(-limit), static_cast<long long>(limit - 1));
    bool& is_reduced = reduced->is_reduced[dim < 0 ? dim + limit : dim];
    ET_KERNEL_CHECK_MSG(ctx, !is_reduced, InvalidArgument, false, "%s: dimension %lld is named twice", op,
                        static_cast<long long>(dim));
    is_reduced = true;
  }
  for (int64_t d = 0; d < rank; ++d) {
    reduced->count *= reduced->is_reduced[d] ? in.sizes()[d] : 1;
  }
  return true;
}

bool resize_to_reduced(KernelRuntimeContext& ctx, const char* op, const Tensor& in, const ReducedDims& reduced,
                       bool keepdim, Tensor& out) {
  SizesType sizes[kTensorDimensionLimit];
  size_t dims = 0;
  for (size_t d = 0; d < static_cast<size_t>(in.dim()); ++d) {
    if (!reduced.is_reduced[d]) {
      sizes[dims++] = in.sizes()[d];
    } else if (keepdim) {
      sizes[dims++] = 1;
    }
  }
  ET_KERNEL_CHECK_MSG(ctx, resize_tensor(out, ArrayRef<SizesType>(sizes, dims)) == Error::Ok, InvalidArgument, false,
                      "%s: the output cannot be resized to the %zu dimensions that are left", op, dims);
  return true;
}

void reduction_loops(const Tensor& in, const ReducedDims& reduced, const Tensor& out, LoopNest<2>* kept,
                     LoopNest<1>* folded) {
  int64_t out_strides[kTensorDimensionLimit];
  out_strides_of(in, reduced, out, out_strides);
  for (size_t i = 0; i < static_cast<size_t>(in.dim()); ++i) {
    const size_t d = in.dim_order()[i];
    const int64_t stride = in.strides()[d];
    if (reduced.is_reduced[d]) {
      folded->push(in.sizes()[d], {stride});
    } else {
      kept->push(in.sizes()[d], {stride, out_strides[d]});
    }
  }
}

void internal::run_reduction(const void* op, const ReductionLoops& loops, const Tensor& in, ComputeType in_type,
                             const ReducedDims& reduced, const Tensor& out, ComputeType out_type) {
  if (out.numel() == 0) {
    return;
  }
  LoopNest<2> kept;
  LoopNest<1> folded;
  reduction_loops(in, reduced, out, &kept, &folded);

  alignas(16) char totals[kBlock * sizeof(int64_t)];
  alignas(16) char partials[kBlock * sizeof(int64_t)];
  int64_t kept_strides[2] = {};
  int64_t folded_strides[1] = {};
  const bool is_empty = reduced.count == 0;
  const LoopNest<2> all_kept = kept;
  const LoopNest<1> all_folded = folded;
  const size_t columns = static_cast<size_t>(kept.pop(kept_strides));
  const size_t run = is_empty ? 0 : static_cast<size_t>(folded.pop(folded_strides));

  if (!is_empty && all_kept.depth() > 0 && (all_folded.depth() == 0 || kept_strides[0] < folded_strides[0])) {
    // Adjacent elements belong to different outputs, so fold row after row into a block of outputs.
    BlockReader reader(in, in_type, kept_strides[0]);
    BlockWriter writer(out, out_type, kept_strides[1]);
    kept.for_each([&](const int64_t* offsets) {
      for (size_t begin = 0; begin < columns; begin += kBlock) {
        const size_t count = std::min(kBlock, columns - begin);
        const int64_t first = offsets[0] + static_cast<int64_t>(begin) * reader.stride();
        const int64_t to = offsets[1] + static_cast<int64_t>(begin) * writer.stride();
        int64_t rows = 0;
        loops.init(op, totals, partials, count);
        all_folded.for_each([&](const int64_t* row) {
          loops.add_rows(op, partials, reader.read(first + row[0], count), count);
          if (++rows % kFlushPeriod == 0) {
            loops.flush(op, totals, partials, count);
          }
        });
        loops.flush(op, totals, partials, count);
        loops.finish(op, writer.begin(to), totals, count);
        writer.commit(to, count);
      }
    });
    return;
  }

  BlockReader reader(in, in_type, run == 1 ? 1 : folded_strides[0]);
  BlockWriter writer(out, out_type, 1);
  const size_t step = reader.is_direct() ? std::max<size_t>(run, 1) : kBlock;
  all_kept.for_each([&](const int64_t* offsets) {
    loops.init(op, totals, partials, 1);
    if (!is_empty) {
      folded.for_each([&](const int64_t* row) {
        for (size_t begin = 0; begin < run; begin += step) {
          const size_t count = std::min(step, run - begin);
          const int64_t from = offsets[0] + row[0] + static_cast<int64_t>(begin) * reader.stride();
          loops.add_run(op, totals, reader.read(from, count), count);
        }
      });
    }
    loops.finish(op, writer.begin(offsets[1]), totals, 1);
    writer.commit(offsets[1], 1);
  });
}

}  // namespace torch::executor::native
