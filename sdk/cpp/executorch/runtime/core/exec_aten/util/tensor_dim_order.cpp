// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>

#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

namespace executorch {
namespace runtime {
namespace {

bool is_default(const aten::Tensor& t) {
  const auto order = internal::dim_order_of(t);
  return order.size() == static_cast<size_t>(t.dim()) && is_contiguous_dim_order(order.data(), order.size());
}

bool is_channels_last(const aten::Tensor& t) {
  const auto order = internal::dim_order_of(t);
  return is_channels_last_dim_order(order.data(), order.size());
}

// Dim order as text such as "0,2,3,1" for a message.
struct DimOrderText {
  char text[4 * kTensorDimensionLimit + 1];

  explicit DimOrderText(const aten::Tensor& t) {
    size_t length = 0;
    const auto order = internal::dim_order_of(t);
    for (size_t i = 0; i < order.size() && i < kTensorDimensionLimit && length + 4 < sizeof(text); ++i) {
      if (i != 0) {
        text[length++] = ',';
      }
      const unsigned d = order[i];
      if (d >= 10) {
        text[length++] = d >= 100 ? '?' : static_cast<char>('0' + d / 10);
      }
      text[length++] = static_cast<char>('0' + d % 10);
    }
    text[length] = '\0';
  }
};

}  // namespace

Error get_dim_order(const aten::Tensor& tensor, aten::DimOrderType* out_dim_order, size_t out_dim_order_size) {
  const auto order = internal::dim_order_of(tensor);
  ET_CHECK_OR_RETURN_ERROR(out_dim_order_size == order.size(), InvalidArgument,
                           "expected room for %" ET_PRIsize_t " dimensions, found %" ET_PRIsize_t, order.size(),
                           out_dim_order_size);
  if (out_dim_order_size != 0) {
    std::memcpy(out_dim_order, order.data(), out_dim_order_size * sizeof(aten::DimOrderType));
  }
  return Error::Ok;
}

bool tensor_has_valid_dim_order(aten::Tensor t) {
  const auto order = internal::dim_order_of(t);
  ET_CHECK_OR_RETURN_FALSE(
      order.size() == static_cast<size_t>(t.dim()) && internal::is_permutation(order.data(), order.size()),
      "expected a permutation of the %" ET_PRIssize_t " dimensions, found the dim order (%s)", t.dim(),
      DimOrderText(t).text);
  return true;
}

bool tensor_is_default_or_channels_last_dim_order(aten::Tensor t) {
  ET_CHECK_OR_RETURN_FALSE(is_default(t) || is_channels_last(t),
                           "expected a contiguous or channels-last tensor, found the dim order (%s)",
                           DimOrderText(t).text);
  return true;
}

bool tensor_is_default_dim_order(aten::Tensor t) {
  ET_CHECK_OR_RETURN_FALSE(is_default(t), "expected a contiguous tensor, found the dim order (%s)",
                           DimOrderText(t).text);
  return true;
}

bool tensor_is_channels_last_dim_order(aten::Tensor t) {
  ET_CHECK_OR_RETURN_FALSE(is_channels_last(t), "expected a channels-last tensor, found the dim order (%s)",
                           DimOrderText(t).text);
  return true;
}

bool tensors_have_same_dim_order(const aten::ArrayRef<aten::Tensor> tensor_list) {
  bool all_equal = true;
  bool all_default = true;
  bool all_channels_last = true;
  for (const aten::Tensor& t : tensor_list) {
    all_equal = all_equal && internal::dim_order_of(t).equals(internal::dim_order_of(tensor_list[0]));
    all_default = all_default && is_default(t);
    all_channels_last = all_channels_last && is_channels_last(t);
  }
  ET_CHECK_OR_RETURN_FALSE(all_equal || all_default || all_channels_last,
                           "expected %" ET_PRIsize_t
                           " tensors that are all contiguous or all channels-last; the first two have the dim orders "
                           "(%s) and (%s)",
                           tensor_list.size(), DimOrderText(tensor_list[0]).text,
                           DimOrderText(tensor_list[tensor_list.size() > 1 ? 1 : 0]).text);
  return true;
}

bool tensors_have_same_dim_order(const aten::Tensor& a, const aten::Tensor& b) {
  const aten::Tensor tensors[] = {a, b};
  return tensors_have_same_dim_order(aten::ArrayRef<aten::Tensor>(tensors));
}

bool tensors_have_same_dim_order(const aten::Tensor& a, const aten::Tensor& b, const aten::Tensor& c) {
  const aten::Tensor tensors[] = {a, b, c};
  return tensors_have_same_dim_order(aten::ArrayRef<aten::Tensor>(tensors));
}

bool tensors_have_same_dim_order(const aten::Tensor& a, const aten::Tensor& b, const aten::Tensor& c,
                                 const aten::Tensor& d) {
  const aten::Tensor tensors[] = {a, b, c, d};
  return tensors_have_same_dim_order(aten::ArrayRef<aten::Tensor>(tensors));
}

}  // namespace runtime
}  // namespace executorch
