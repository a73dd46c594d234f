// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/devtools/bundled_program/bundled_program.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <optional>

#include <executorch/devtools/bundled_program/tensor_difference.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_access.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/exec_aten/util/tensor_shape_to_c_string.h>
#include <executorch/runtime/core/tensor_layout.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/schema/bundled_program_generated.h>
#include <executorch/schema/bundled_program_verifier.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace BUNDLED_PROGRAM_NAMESPACE {

using ::executorch::aten::ScalarType;
using ::executorch::aten::Tensor;
using ::executorch::runtime::Error;
using ::executorch::runtime::EValue;
using ::executorch::runtime::kTensorDimensionLimit;
using ::executorch::runtime::Result;
using ::executorch::runtime::Span;
using ::executorch::runtime::TensorLayout;
using ::executorch::runtime::internal::Differences;
using ::executorch::runtime::internal::Tolerance;

namespace format = bundled_program_flatbuffer;

namespace {

/// Bytes at the start of a flatbuffer: the offset of its root and its identifier.
constexpr size_t kIdentifierEnd = 8;

using Values = flatbuffers::Vector<flatbuffers::Offset<format::Value>>;

/// Identifies the compared value in messages.
struct Place {
  const char* method;
  size_t test_case;
  const char* what;
  uint32_t index;
};

#define ET_CHECK_AT(place, condition, error, text, ...)                                               \
  ET_CHECK_OR_RETURN_ERROR(condition, error, "'%s', case %zu, %s %" PRIu32 ": " text, (place).method, \
                           (place).test_case, (place).what, (place).index, ##__VA_ARGS__)

uint32_t count_of(const Values* values) {
  return values == nullptr ? 0 : values->size();
}

/// The sizes, dim order and strides of a tensor whose elements are in the bundle.
struct BundledTensor {
  executorch::aten::SizesType sizes[kTensorDimensionLimit];
  uint8_t dim_order[kTensorDimensionLimit];
  executorch::aten::StridesType strides[kTensorDimensionLimit];
#ifndef USE_ATEN_LIB
  std::optional<executorch::aten::TensorImpl> impl;
#endif
};

Result<Tensor> make_tensor(const format::Tensor& from, const Place& place, BundledTensor* to) {
  const uint32_t dim = from.sizes() == nullptr ? 0 : from.sizes()->size();
  const uint32_t order_dim = from.dim_order() == nullptr ? 0 : from.dim_order()->size();
  ET_CHECK_AT(place, dim <= kTensorDimensionLimit && dim == order_dim, InvalidExternalData,
              "expected at most %zu dimensions and a dim order, found %" PRIu32 " and one of %" PRIu32,
              kTensorDimensionLimit, dim, order_dim);
  int32_t sizes[kTensorDimensionLimit];
  if (dim > 0) {
    std::memcpy(sizes, from.sizes()->data(), dim * sizeof(sizes[0]));
    std::memcpy(to->dim_order, from.dim_order()->data(), dim);
  }
  std::copy_n(sizes, dim, to->sizes);
  const auto type = static_cast<ScalarType>(from.scalar_type());
  const auto layout =
      TensorLayout::create(Span<const int32_t>(sizes, dim), Span<const uint8_t>(to->dim_order, dim), type);
  const size_t bytes = from.data() == nullptr ? 0 : from.data()->size();
  ET_CHECK_AT(place, layout.ok() && layout->nbytes() == bytes, InvalidExternalData,
              "its sizes, dim order and dtype do not fit its %zu bytes: has the file passed get_program_data()?",
              bytes);
  ET_CHECK_OK_OR_RETURN_ERROR(runtime::dim_order_to_stride(to->sizes, to->dim_order, dim, to->strides));
  void* data = bytes == 0 ? nullptr : const_cast<uint8_t*>(from.data()->data());
#ifdef USE_ATEN_LIB
  return runtime::internal::make_tensor({to->sizes, dim}, {to->strides, dim}, type,
                                        executorch::aten::TensorShapeDynamism::STATIC,
                                        ::c10::DataPtr(data, ::c10::Device(::c10::DeviceType::CPU)), bytes);
#else
  to->impl.emplace(type, static_cast<ssize_t>(dim), to->sizes, data, to->dim_order, to->strides);
  return Tensor(&*to->impl);
#endif
}

Result<const format::BundledProgram*> bundle_at(SerializedBundledProgram* bundle) {
  ET_CHECK_OR_RETURN_ERROR(bundle != nullptr, InvalidArgument, "expected a bundled program, found a null pointer");
  ET_CHECK_OR_RETURN_ERROR(format::BundledProgramBufferHasIdentifier(bundle), NotSupported,
                           "expected a bundled program of version '%s', found the identifier '%.4s'",
                           format::BundledProgramIdentifier(), static_cast<const char*>(bundle) + 4);
  return format::GetBundledProgram(bundle);
}

Result<const format::BundledMethodTestCase*> find_case(SerializedBundledProgram* bundle, const char* method,
                                                       size_t testset_idx) {
  const auto bundled = bundle_at(bundle);
  if (!bundled.ok()) {
    return bundled.error();
  }
  const auto* suites = bundled.get()->method_test_suites();
  for (uint32_t i = 0; suites != nullptr && i < suites->size(); ++i) {
    const auto* suite = suites->Get(i);
    if (suite->method_name() == nullptr || std::strcmp(suite->method_name()->c_str(), method) != 0) {
      continue;
    }
    const uint32_t count = suite->test_cases() == nullptr ? 0 : suite->test_cases()->size();
    ET_CHECK_OR_RETURN_ERROR(testset_idx < count, InvalidArgument,
                             "'%s' has %" PRIu32 " cases in the bundled program, there is no case %zu", method, count,
                             testset_idx);
    return suite->test_cases()->Get(static_cast<uint32_t>(testset_idx));
  }
  ET_LOG(Error, "the bundled program has no cases for the method '%s'", method);
  return Error::InvalidArgument;
}

const char* name_of(const Method& method) {
  return method.method_meta().name();
}

Error set_input(Method& method, const format::Value& value, const Place& place) {
  switch (value.val_type()) {
    case format::ValueUnion::Tensor: {
      BundledTensor memory;
      const Result<Tensor> tensor = make_tensor(*value.val_as_Tensor(), place, &memory);
      return tensor.ok() ? method.set_input(EValue(tensor.get()), place.index) : tensor.error();
    }
    case format::ValueUnion::Int:
      return method.set_input(EValue(value.val_as_Int()->int_val()), place.index);
    case format::ValueUnion::Bool:
      return method.set_input(EValue(value.val_as_Bool()->bool_val()), place.index);
    case format::ValueUnion::Double:
      return method.set_input(EValue(value.val_as_Double()->double_val()), place.index);
    default:
      return method.set_input(EValue(), place.index);
  }
}

/// Checks that an output is a tensor of the expected dtype and sizes, and that it has data.
Error check_comparable(const Tensor& found, const Tensor& expected, const Place& place) {
  ET_CHECK_AT(place, found.scalar_type() == expected.scalar_type(), NotFound, "expected dtype %s, found %s",
              runtime::toString(expected.scalar_type()), runtime::toString(found.scalar_type()));
  const auto shape = [](const Tensor& tensor) {
    return runtime::tensor_shape_to_c_string(
        Span<const executorch::aten::SizesType>(tensor.sizes().data(), tensor.sizes().size()));
  };
  ET_CHECK_AT(place, found.sizes().equals(expected.sizes()), NotFound, "expected sizes %s, found %s",
              shape(expected).data(), shape(found).data());
  ET_CHECK_AT(place, found.numel() == 0 || found.const_data_ptr() != nullptr, InvalidState,
              "it has no data: execute the method first");
  return Error::Ok;
}

/// Calls `tensors(found, expected, place)` for outputs that are tensors, `numbers(...)` for others.
template <typename Tensors, typename Numbers>
Error for_each_output(const Method& method, SerializedBundledProgram* bundle, size_t testset_idx,
                      const Tensors& tensors, const Numbers& numbers) {
  const auto test_case = find_case(bundle, name_of(method), testset_idx);
  if (!test_case.ok()) {
    return test_case.error();
  }
  const auto* values = test_case.get()->expected_outputs();
  ET_CHECK_OR_RETURN_ERROR(count_of(values) > 0, NotSupported, "'%s', case %zu: no outputs are expected",
                           name_of(method), testset_idx);
  ET_CHECK_OR_RETURN_ERROR(values->size() == method.outputs_size(), InvalidArgument,
                           "'%s' has %zu outputs, case %zu expects %" PRIu32, name_of(method), method.outputs_size(),
                           testset_idx, values->size());
  for (Place place{name_of(method), testset_idx, "output", 0}; place.index < values->size(); ++place.index) {
    const format::Value& value = *values->Get(place.index);
    const EValue& found = method.get_output(place.index);
    const auto* expected = value.val_as_Tensor();
    ET_CHECK_AT(place, found.isTensor() == (expected != nullptr), NotFound, "expected %s, found a value of type %s",
                expected != nullptr ? "a tensor" : "no tensor", runtime::tag_to_string(found.tag));
    if (expected == nullptr) {
      ET_CHECK_OK_OR_RETURN_ERROR(numbers(found, value, place));
      continue;
    }
    BundledTensor memory;
    const Result<Tensor> tensor = make_tensor(*expected, place, &memory);
    if (!tensor.ok()) {
      return tensor.error();
    }
    ET_CHECK_OK_OR_RETURN_ERROR(check_comparable(found.toTensor(), tensor.get(), place));
    ET_CHECK_OK_OR_RETURN_ERROR(tensors(found.toTensor(), tensor.get(), place));
  }
  return Error::Ok;
}

Error check_number(const EValue& found, const format::Value& expected, const Place& place, Tolerance tolerance) {
  bool same = false;
  switch (expected.val_type()) {
    case format::ValueUnion::Int:
      same = found.isInt() && found.toInt() == expected.val_as_Int()->int_val();
      break;
    case format::ValueUnion::Bool:
      same = found.isBool() && found.toBool() == expected.val_as_Bool()->bool_val();
      break;
    case format::ValueUnion::Double:
      same = found.isDouble() &&
             runtime::internal::is_close(found.toDouble(), expected.val_as_Double()->double_val(), tolerance);
      break;
    default:
      same = found.isNone();
  }
  ET_CHECK_AT(place, same, NotFound, "a value of type %s differs from the expected %s",
              runtime::tag_to_string(found.tag), format::EnumNameValueUnion(expected.val_type()));
  return Error::Ok;
}

}  // namespace

Error load_bundled_input(Method& method, SerializedBundledProgram* bundled_program_ptr, size_t testset_idx) {
  const auto test_case = find_case(bundled_program_ptr, name_of(method), testset_idx);
  if (!test_case.ok()) {
    return test_case.error();
  }
  const auto* inputs = test_case.get()->inputs();
  ET_CHECK_OR_RETURN_ERROR(count_of(inputs) == method.inputs_size(), InvalidArgument,
                           "'%s' takes %zu inputs, case %zu has %" PRIu32, name_of(method), method.inputs_size(),
                           testset_idx, count_of(inputs));
  runtime::internal::event_tracer_set_bundled_input_index(method.get_event_tracer(), static_cast<int>(testset_idx));
  for (uint32_t i = 0; i < count_of(inputs); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(set_input(method, *inputs->Get(i), {name_of(method), testset_idx, "input", i}));
  }
  return Error::Ok;
}

Error verify_method_outputs(Method& method, SerializedBundledProgram* bundled_program_ptr, size_t testset_idx,
                            double rtol, double atol) {
  const Tolerance tolerance{rtol, atol};
  return for_each_output(
      method, bundled_program_ptr, testset_idx,
      [&](const Tensor& found, const Tensor& expected, const Place& place) -> Error {
        const size_t first = runtime::internal::first_difference(found, expected, tolerance);
        ET_CHECK_AT(place, first == static_cast<size_t>(found.numel()), NotFound,
                    "element %zu of %zu differs from the expected one by more than %g + %g of it", first,
                    static_cast<size_t>(found.numel()), atol, rtol);
        return Error::Ok;
      },
      [&](const EValue& found, const format::Value& expected, const Place& place) {
        return check_number(found, expected, place, tolerance);
      });
}

ErrorStats compute_method_output_error_stats(Method& method, SerializedBundledProgram* bundled_program_ptr,
                                             size_t testset_idx) {
  Differences all;
  const Error error = for_each_output(
      method, bundled_program_ptr, testset_idx,
      [&](const Tensor& found, const Tensor& expected, const Place& place) -> Error {
        ET_CHECK_AT(place, runtime::internal::add_differences(found, expected, &all), NotSupported,
                    "elements of dtype %s cannot be subtracted", runtime::toString(found.scalar_type()));
        return Error::Ok;
      },
      [](const EValue&, const format::Value&, const Place&) { return Error::Ok; });
  if (error != Error::Ok) {
    return {error, 0, 0, 0, 0};
  }
  const double count = all.count == 0 ? 1 : static_cast<double>(all.count);
  return {Error::Ok, all.sum_absolute / count, all.max_absolute, all.sum_relative / count, all.max_relative};
}

Error get_program_data(void* file_data, size_t file_data_len, const void** out_program_data,
                       size_t* out_program_data_len) {
  ET_CHECK_OR_RETURN_ERROR(file_data != nullptr && out_program_data != nullptr && out_program_data_len != nullptr,
                           InvalidArgument, "get_program_data() was given a null pointer");
  if (is_bundled_program(file_data, file_data_len)) {
    const auto bundled = runtime::internal::verify_bundled_program(file_data, file_data_len);
    if (!bundled.ok()) {
      return bundled.error();
    }
    *out_program_data = bundled.get()->program()->data();
    *out_program_data_len = bundled.get()->program()->size();
    return Error::Ok;
  }
  const bool is_program =
      file_data_len >= kIdentifierEnd && executorch_flatbuffer::ProgramBufferHasIdentifier(file_data);
  ET_CHECK_OR_RETURN_ERROR(is_program, NotSupported,
                           "expected a bundled program ('%s') or a program ('%s'), found %zu bytes with the identifier "
                           "'%.4s'",
                           format::BundledProgramIdentifier(), executorch_flatbuffer::ProgramIdentifier(),
                           file_data_len,
                           file_data_len >= kIdentifierEnd ? static_cast<const char*>(file_data) + 4 : "");
  *out_program_data = file_data;
  *out_program_data_len = file_data_len;
  return Error::Ok;
}

bool is_bundled_program(void* file_data, size_t file_data_len) {
  return file_data != nullptr && file_data_len >= kIdentifierEnd &&
         format::BundledProgramBufferHasIdentifier(file_data);
}

}  // namespace BUNDLED_PROGRAM_NAMESPACE
}  // namespace executorch
