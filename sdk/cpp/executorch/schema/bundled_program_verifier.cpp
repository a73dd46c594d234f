// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/schema/bundled_program_verifier.h>

#include <cinttypes>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/core/tensor_layout.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/schema/bundled_program_generated.h>
#include <executorch/schema/bundled_program_tables.h>

namespace executorch {
namespace runtime {
namespace internal {

namespace format = bundled_program_flatbuffer;

namespace {

/// The alignment of malloc(), which the elements of tensors need.
constexpr size_t kAlignment = 16;

/// The value that is being checked, for messages.
struct Place {
  const char* method;
  uint32_t test_case;
  const char* what;
  uint32_t index;
};

#define ET_CHECK_VALUE(place, condition, text, ...)                                                                \
  ET_CHECK_OR_RETURN_ERROR(condition, InvalidExternalData, ".bpte: '%s', case %" PRIu32 ", %s %" PRIu32 ": " text, \
                           (place).method, (place).test_case, (place).what, (place).index, ##__VA_ARGS__)

Error verify_tensor(const format::Tensor& tensor, const Place& place) {
  const auto* sizes = tensor.sizes();
  const auto* dim_order = tensor.dim_order();
  // A scalar tensor has no sizes.
  const Span<const int32_t> size_span(sizes == nullptr ? nullptr : sizes->data(), sizes == nullptr ? 0 : sizes->size());
  const Span<const uint8_t> order_span(dim_order == nullptr ? nullptr : dim_order->data(),
                                       dim_order == nullptr ? 0 : dim_order->size());
  const auto type = static_cast<aten::ScalarType>(tensor.scalar_type());
  const Result<const TensorLayout> layout = TensorLayout::create(size_span, order_span, type);
  ET_CHECK_VALUE(place, layout.ok(), "its sizes, dim order or scalar type (%d) make no valid layout",
                 static_cast<int>(tensor.scalar_type()));
  const size_t bytes = tensor.data() == nullptr ? 0 : tensor.data()->size();
  ET_CHECK_VALUE(place, layout->nbytes() == bytes, "the tensor has %zu bytes, the file holds %zu", layout->nbytes(),
                 bytes);
  ET_CHECK_VALUE(place, bytes == 0 || reinterpret_cast<uintptr_t>(tensor.data()->data()) % elementSize(type) == 0,
                 "its elements are not aligned to their size");
  return Error::Ok;
}

Error verify_values(const flatbuffers::Vector<flatbuffers::Offset<format::Value>>* values, Place place) {
  for (place.index = 0; values != nullptr && place.index < values->size(); ++place.index) {
    const auto* value = values->Get(place.index);
    ET_CHECK_VALUE(place, value->val_type() <= format::ValueUnion::MAX, "it is of the unknown type %u",
                   static_cast<unsigned>(value->val_type()));
    ET_CHECK_VALUE(place, value->val_type() == format::ValueUnion::NONE || value->val() != nullptr, "it is empty");
    if (value->val_type() == format::ValueUnion::Tensor) {
      const Error error = verify_tensor(*value->val_as_Tensor(), place);
      if (error != Error::Ok) {
        return error;
      }
    }
  }
  return Error::Ok;
}

Error verify_suite(const format::BundledMethodTestSuite& suite, uint32_t index) {
  ET_CHECK_OR_RETURN_ERROR(suite.method_name() != nullptr, InvalidExternalData,
                           ".bpte: suite %" PRIu32 " does not say which method it is for", index);
  const auto* cases = suite.test_cases();
  for (uint32_t i = 0; cases != nullptr && i < cases->size(); ++i) {
    const char* method = suite.method_name()->c_str();
    Error error = verify_values(cases->Get(i)->inputs(), {method, i, "input", 0});
    if (error == Error::Ok) {
      error = verify_values(cases->Get(i)->expected_outputs(), {method, i, "expected output", 0});
    }
    if (error != Error::Ok) {
      return error;
    }
  }
  return Error::Ok;
}

}  // namespace

Result<const format::BundledProgram*> verify_bundled_program(const void* data, size_t size) {
  const char* const identifier = format::BundledProgramIdentifier();
  ET_CHECK_OR_RETURN_ERROR(reinterpret_cast<uintptr_t>(data) % kAlignment == 0, InvalidArgument,
                           ".bpte: the file is at address %p, expected a multiple of %zu", data, kAlignment);
  ET_CHECK_OR_RETURN_ERROR(size >= 8 && format::BundledProgramBufferHasIdentifier(data), InvalidExternalData,
                           "expected a bundled program of version '%s', found the identifier '%.4s'", identifier,
                           size >= 8 ? static_cast<const char*>(data) + 4 : "");
  ET_CHECK_OR_RETURN_ERROR(verify_tables(format::kBundledProgramSchema, data, size, identifier), InvalidExternalData,
                           ".bpte: its %zu bytes are not a sound flatbuffer; the file is damaged", size);
  const auto* bundled = format::GetBundledProgram(data);
  ET_CHECK_OR_RETURN_ERROR(bundled->program() != nullptr && bundled->program()->size() > 0, InvalidExternalData,
                           ".bpte: there is no program in it");
  const auto* suites = bundled->method_test_suites();
  for (uint32_t i = 0; suites != nullptr && i < suites->size(); ++i) {
    const Error error = verify_suite(*suites->Get(i), i);
    if (error != Error::Ok) {
      return error;
    }
  }
  return bundled;
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
