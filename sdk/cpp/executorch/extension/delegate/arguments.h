// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Checks of the arguments of a delegate. Every backend calls these, so that a fault has the same error code in all of
 * them: Error::InvalidProgram for a wrong number of arguments, which only the program determines, and
 * Error::InvalidArgument for an argument that does not fit, as from Method::set_input(). Each failure is logged.
 */
#pragma once

#include <cstddef>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_shape_to_c_string.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/core/tag.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace delegate {

/// An argument as messages name it: "DemoBackend: input 0". Texts are static.
struct Argument {
  const char* backend;
  const char* kind;  ///< "input", "output", or "argument" where both are numbered together
  size_t index;      ///< position among the arguments of its kind
};

namespace internal {

template <typename T>
auto shape_text(aten::ArrayRef<T> sizes) {
  return runtime::tensor_shape_to_c_string(runtime::Span<const T>(sizes.data(), sizes.size()));
}

}  // namespace internal

/// InvalidProgram if the instruction that calls the delegate passes another number of values than the payload has.
inline runtime::Error check_count(const char* backend, runtime::Span<runtime::EValue*> args, size_t inputs,
                                  size_t outputs) {
  ET_CHECK_OR_RETURN_ERROR(args.size() == inputs + outputs, InvalidProgram,
                           "%s: the program passes %zu arguments to a delegate whose payload has %zu inputs and %zu "
                           "outputs: export the program again",
                           backend, args.size(), inputs, outputs);
  return runtime::Error::Ok;
}

/// InvalidArgument for a value that is not a tensor.
inline runtime::Error check_is_tensor(const Argument& argument, const runtime::EValue& value) {
  ET_CHECK_OR_RETURN_ERROR(value.isTensor(), InvalidArgument, "%s: %s %zu of a delegate must be a tensor, found %s",
                           argument.backend, argument.kind, argument.index, runtime::tag_to_string(value.tag));
  return runtime::Error::Ok;
}

/// InvalidArgument unless the dtype `fits`. `expected` names the dtypes that do.
inline runtime::Error check_dtype(const Argument& argument, const aten::Tensor& tensor, bool fits,
                                  const char* expected) {
  ET_CHECK_OR_RETURN_ERROR(fits, InvalidArgument, "%s: %s %zu of a delegate has the dtype %s, its payload expects %s",
                           argument.backend, argument.kind, argument.index, runtime::toString(tensor.scalar_type()),
                           expected);
  return runtime::Error::Ok;
}

inline runtime::Error check_dtype(const Argument& argument, const aten::Tensor& tensor, aten::ScalarType expected) {
  return check_dtype(argument, tensor, tensor.scalar_type() == expected, runtime::toString(expected));
}

/// InvalidArgument unless the shape `fits`. `expected` returns the text of the shapes that do, a std::string or a
/// std::array, and is called for the message only.
template <typename Expected>
runtime::Error check_shape(const Argument& argument, const aten::Tensor& tensor, bool fits, Expected&& expected) {
  ET_CHECK_OR_RETURN_ERROR(fits, InvalidArgument, "%s: %s %zu of a delegate has the shape %s, its payload expects %s",
                           argument.backend, argument.kind, argument.index, internal::shape_text(tensor.sizes()).data(),
                           expected().data());
  return runtime::Error::Ok;
}

/// InvalidArgument unless the argument is a contiguous tensor of this dtype and shape. Payloads that cannot express a
/// tensor without dimensions have the shape (1,) for it.
template <typename T>
runtime::Error check_tensor(const Argument& argument, const runtime::EValue& value, aten::ScalarType dtype,
                            aten::ArrayRef<T> sizes) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_is_tensor(argument, value));
  const aten::Tensor& tensor = value.toTensor();
  ET_CHECK_OK_OR_RETURN_ERROR(check_dtype(argument, tensor, dtype));
  bool fits = static_cast<size_t>(tensor.dim()) == sizes.size();
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    fits = tensor.sizes()[i] == sizes[i];
  }
  fits = fits || (tensor.dim() == 0 && sizes.size() == 1 && sizes[0] == 1);
  ET_CHECK_OK_OR_RETURN_ERROR(check_shape(argument, tensor, fits, [&] { return internal::shape_text(sizes); }));
  ET_CHECK_OR_RETURN_ERROR(runtime::tensor_is_default_dim_order(tensor), InvalidArgument,
                           "%s: %s %zu of a delegate must be contiguous, it has another dim order", argument.backend,
                           argument.kind, argument.index);
  return runtime::Error::Ok;
}

/// Gives an output the shape of its result. InvalidArgument if the program planned no memory for it.
template <typename T>
runtime::Error resize_output(const Argument& argument, const aten::Tensor& tensor, aten::ArrayRef<T> sizes) {
  if (runtime::resize_tensor(tensor, sizes) == runtime::Error::Ok) {
    return runtime::Error::Ok;
  }
  ET_LOG(Error,
         "%s: %s %zu of a delegate has the shape %s, for which its tensor in the program has no memory: "
         "pass smaller inputs, or export for larger ones",
         argument.backend, argument.kind, argument.index, internal::shape_text(sizes).data());
  return runtime::Error::InvalidArgument;
}

}  // namespace delegate
}  // namespace extension
}  // namespace executorch
