// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <cstring>

#include <executorch/runtime/core/exec_aten/util/tensor_shape_to_c_string.h>

namespace executorch {
namespace runtime {
namespace {

// Text of a tensor's sizes for a message; lives until the end of the full expression.
auto shape_text(const aten::Tensor& t) {
  return tensor_shape_to_c_string(Span<const aten::SizesType>(t.sizes().data(), t.sizes().size()));
}

bool dtype_is(bool matches, const aten::Tensor& t, const char* expected) {
  ET_CHECK_OR_RETURN_FALSE(matches, "expected a tensor of %s dtype, found %s", expected, toString(t.scalar_type()));
  return true;
}

}  // namespace

bool dim_is_valid(int64_t dim, int64_t upper_bound) {
  const int64_t bound = upper_bound == 0 ? 1 : upper_bound;  // A scalar counts as a vector of one element.
  ET_CHECK_OR_RETURN_FALSE(dim >= -bound && dim < bound,
                           "dim %" PRId64 " of a tensor of rank %" PRId64 " must be within [-%" PRId64 ", %" PRId64 ")",
                           dim, upper_bound, bound, bound);
  return true;
}

bool tensor_can_cast_to(aten::Tensor a, aten::ScalarType dtype) {
  ET_CHECK_OR_RETURN_FALSE(canCast(a.scalar_type(), dtype), "a tensor of dtype %s cannot be cast to %s",
                           toString(a.scalar_type()), toString(dtype));
  return true;
}

bool tensor_is_bool_type(aten::Tensor t) {
  return dtype_is(t.scalar_type() == aten::ScalarType::Bool, t, "Bool");
}

bool tensor_is_floating_type(aten::Tensor t) {
  return dtype_is(isFloatingType(t.scalar_type()), t, "a floating point");
}

bool tensor_is_real_type(aten::Tensor t) {
  return dtype_is(isRealType(t.scalar_type()), t, "an integer, Float or Double");
}

bool tensor_is_realh_type(aten::Tensor t) {
  return dtype_is(isRealHType(t.scalar_type()), t, "an integer, Half, Float or Double");
}

bool tensor_is_realhbf16_type(aten::Tensor t) {
  return dtype_is(isRealHBF16Type(t.scalar_type()), t, "an integer or a floating point");
}

bool tensor_is_realhb_type(aten::Tensor t) {
  return dtype_is(isRealHBType(t.scalar_type()), t, "an integer, Bool, Half, Float or Double");
}

bool tensor_is_realhbbf16_type(aten::Tensor t) {
  return dtype_is(isRealHBBF16Type(t.scalar_type()), t, "an integer, Bool or a floating point");
}

bool tensor_is_complex_type(aten::Tensor t) {
  return dtype_is(isComplexType(t.scalar_type()), t, "a complex");
}

bool tensor_is_bits_type(aten::Tensor t) {
  return dtype_is(isBitsType(t.scalar_type()), t, "a bits");
}

bool tensor_is_integral_type(aten::Tensor t, bool includeBool) {
  return dtype_is(isIntegralType(t.scalar_type(), includeBool), t, includeBool ? "an integer or Bool" : "an integer");
}

bool tensor_is_type(aten::Tensor t, aten::ScalarType dtype) {
  return dtype_is(t.scalar_type() == dtype, t, toString(dtype));
}

bool tensor_is_type(aten::Tensor t, aten::ScalarType dtype, aten::ScalarType dtype2) {
  ET_CHECK_OR_RETURN_FALSE(t.scalar_type() == dtype || t.scalar_type() == dtype2,
                           "expected a tensor of dtype %s or %s, found %s", toString(dtype), toString(dtype2),
                           toString(t.scalar_type()));
  return true;
}

bool tensor_is_type(aten::Tensor t, aten::ScalarType dtype, aten::ScalarType dtype2, aten::ScalarType dtype3) {
  ET_CHECK_OR_RETURN_FALSE(t.scalar_type() == dtype || t.scalar_type() == dtype2 || t.scalar_type() == dtype3,
                           "expected a tensor of dtype %s, %s or %s, found %s", toString(dtype), toString(dtype2),
                           toString(dtype3), toString(t.scalar_type()));
  return true;
}

bool tensors_have_same_dtype(aten::Tensor a, aten::Tensor b) {
  ET_CHECK_OR_RETURN_FALSE(a.scalar_type() == b.scalar_type(), "expected tensors of the same dtype, found %s and %s",
                           toString(a.scalar_type()), toString(b.scalar_type()));
  return true;
}

bool tensors_have_same_dtype(aten::Tensor a, aten::Tensor b, aten::Tensor c) {
  return tensors_have_same_dtype(a, b) && tensors_have_same_dtype(b, c);
}

bool tensor_is_rank(aten::Tensor t, size_t rank) {
  ET_CHECK_OR_RETURN_FALSE(static_cast<size_t>(t.dim()) == rank,
                           "expected a tensor of rank %" ET_PRIsize_t ", found shape %s", rank, shape_text(t).data());
  return true;
}

bool tensor_has_rank_greater_or_equal_to(aten::Tensor t, size_t rank) {
  ET_CHECK_OR_RETURN_FALSE(static_cast<size_t>(t.dim()) >= rank,
                           "expected a tensor of rank %" ET_PRIsize_t " or more, found shape %s", rank,
                           shape_text(t).data());
  return true;
}

bool tensor_has_rank_smaller_or_equal_to(aten::Tensor t, size_t rank) {
  ET_CHECK_OR_RETURN_FALSE(static_cast<size_t>(t.dim()) <= rank,
                           "expected a tensor of rank %" ET_PRIsize_t " or less, found shape %s", rank,
                           shape_text(t).data());
  return true;
}

bool tensors_have_same_rank(aten::Tensor a, aten::Tensor b) {
  ET_CHECK_OR_RETURN_FALSE(a.dim() == b.dim(), "expected tensors of the same rank, found shapes %s and %s",
                           shape_text(a).data(), shape_text(b).data());
  return true;
}

bool tensor_has_dim(aten::Tensor t, int64_t d) {
  return dim_is_valid(d, t.dim());
}

bool tensor_has_non_empty_dim(aten::Tensor t, int64_t d) {
  if (!tensor_has_dim(t, d)) {
    return false;
  }
  const ssize_t size = nonempty_size(t, static_cast<ssize_t>(ET_NORMALIZE_IX(d, nonzero_dim(t))));
  ET_CHECK_OR_RETURN_FALSE(size != 0, "expected dim %" PRId64 " of a size above 0, found shape %s", d,
                           shape_text(t).data());
  return true;
}

bool tensor_dim_has_index(aten::Tensor t, int64_t d, int64_t ix) {
  if (!tensor_has_dim(t, d)) {
    return false;
  }
  const int64_t size = nonempty_size(t, static_cast<ssize_t>(ET_NORMALIZE_IX(d, nonzero_dim(t))));
  ET_CHECK_OR_RETURN_FALSE(ix >= -size && ix < size,
                           "index %" PRId64 " into dim %" PRId64 " must be within [-%" PRId64 ", %" PRId64 ")", ix, d,
                           size, size);
  return true;
}

bool tensors_have_same_size_at_dims(aten::Tensor a, size_t dim_a, aten::Tensor b, size_t dim_b) {
  ET_CHECK_OR_RETURN_FALSE(dim_a < static_cast<size_t>(a.dim()) && dim_b < static_cast<size_t>(b.dim()) &&
                               a.size(static_cast<ssize_t>(dim_a)) == b.size(static_cast<ssize_t>(dim_b)),
                           "expected dim %" ET_PRIsize_t " of shape %s and dim %" ET_PRIsize_t
                           " of shape %s to have the same size",
                           dim_a, shape_text(a).data(), dim_b, shape_text(b).data());
  return true;
}

bool tensors_have_same_shape(aten::Tensor a, aten::Tensor b) {
  if (a.numel() == 1 && b.numel() == 1) {
    return true;  // as PyTorch, which accepts one-element tensors of any rank here
  }
  ET_CHECK_OR_RETURN_FALSE(a.sizes().equals(b.sizes()), "expected tensors of the same shape, found %s and %s",
                           shape_text(a).data(), shape_text(b).data());
  return true;
}

bool tensors_have_same_shape(aten::Tensor a, aten::Tensor b, aten::Tensor c) {
  return tensors_have_same_shape(a, b) && tensors_have_same_shape(b, c);
}

bool tensors_have_same_shape_and_dtype(aten::Tensor a, aten::Tensor b) {
  return tensors_have_same_shape(a, b) && tensors_have_same_dtype(a, b);
}

bool tensors_have_same_shape_and_dtype(aten::Tensor a, aten::Tensor b, aten::Tensor c) {
  return tensors_have_same_shape(a, b, c) && tensors_have_same_dtype(a, b, c);
}

bool tensor_has_expected_size(aten::Tensor a, aten::ArrayRef<aten::SizesType> expected_sizes) {
  ET_CHECK_OR_RETURN_FALSE(
      a.sizes().equals(expected_sizes), "expected a tensor of shape %s, found %s",
      tensor_shape_to_c_string(Span<const aten::SizesType>(expected_sizes.data(), expected_sizes.size())).data(),
      shape_text(a).data());
  return true;
}

bool tensor_is_scalar(aten::Tensor t) {
  ET_CHECK_OR_RETURN_FALSE(t.dim() <= 1 && t.numel() == 1, "expected a tensor of one element, found shape %s",
                           shape_text(t).data());
  return true;
}

bool tensors_have_same_strides(aten::Tensor a, aten::Tensor b) {
  ET_CHECK_OR_RETURN_FALSE(a.strides().equals(b.strides()),
                           "expected tensors of the same strides, found different ones for the shapes %s and %s",
                           shape_text(a).data(), shape_text(b).data());
  return true;
}

bool tensors_have_same_strides(aten::Tensor a, aten::Tensor b, aten::Tensor c) {
  return tensors_have_same_strides(a, b) && tensors_have_same_strides(b, c);
}

bool tensor_is_contiguous(aten::Tensor t) {
  const auto strides = t.strides();
  const auto sizes = t.sizes();
  ET_CHECK_OR_RETURN_FALSE(strides.size() == sizes.size(), "a tensor of shape %s has no strides", shape_text(t).data());
  int64_t expected = 1;
  for (size_t i = sizes.size(); i > 0; --i) {
    // The stride of a dimension of one element is never used.
    ET_CHECK_OR_RETURN_FALSE(sizes[i - 1] == 1 || strides[i - 1] == expected,
                             "a tensor of shape %s is not contiguous: expected stride %" PRId64 " in dim %" ET_PRIsize_t
                             ", found %d",
                             shape_text(t).data(), expected, i - 1, static_cast<int>(strides[i - 1]));
    expected *= sizes[i - 1] == 0 ? 1 : sizes[i - 1];
  }
  return true;
}

namespace internal {

Error share_tensor_data(const aten::Tensor& t_dst, const aten::Tensor& t_src) {
  ET_CHECK_OR_RETURN_ERROR(t_dst.nbytes() == t_src.nbytes(), InvalidArgument,
                           "a tensor of %zu bytes cannot use the memory of one of %zu bytes", size_t{t_dst.nbytes()},
                           size_t{t_src.nbytes()});
  ET_CHECK_OR_RETURN_ERROR(t_src.const_data_ptr() != nullptr, InvalidArgument,
                           "a tensor without data has no memory to share");
  share_data(t_dst, t_src);
  return Error::Ok;
}

Error copy_tensor_data(const aten::Tensor& t_dst, const aten::Tensor& t_src) {
  ET_CHECK_OR_RETURN_ERROR(t_dst.const_data_ptr() != nullptr, InvalidArgument,
                           "a tensor without memory cannot take the data of another one");
  if (t_src.const_data_ptr() == nullptr) {
    return Error::Ok;
  }
  ET_CHECK_OR_RETURN_ERROR(t_dst.nbytes() == t_src.nbytes(), InvalidArgument,
                           "a tensor of %zu bytes cannot take the data of one of %zu bytes", size_t{t_dst.nbytes()},
                           size_t{t_src.nbytes()});
  if (t_src.nbytes() > 0 && t_src.const_data_ptr() != t_dst.const_data_ptr()) {
    std::memmove(t_dst.mutable_data_ptr(), t_src.const_data_ptr(), t_src.nbytes());
  }
  return Error::Ok;
}

Error set_tensor_data(const aten::Tensor& t, void* buffer, size_t buffer_size) {
  ET_CHECK_OR_RETURN_ERROR(buffer_size >= t.nbytes(), InvalidArgument,
                           "a tensor of %zu bytes cannot use a buffer of %zu bytes", size_t{t.nbytes()}, buffer_size);
  set_data(t, buffer, buffer_size);
  return Error::Ok;
}

void reset_data_ptr(const aten::Tensor& tensor) {
  set_data(tensor, nullptr, 0);
}

Error resize_tensor_impl(aten::TensorImpl* impl, aten::ArrayRef<aten::SizesType> new_sizes) {
#ifdef USE_ATEN_LIB
  return internal::resize(aten::Tensor(::c10::intrusive_ptr<aten::TensorImpl>::reclaim_copy(impl)), new_sizes);
#else
  return internal::resize(aten::Tensor(impl), new_sizes);
#endif
}

}  // namespace internal

}  // namespace runtime
}  // namespace executorch
