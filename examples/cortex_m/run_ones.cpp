// SPDX-License-Identifier: BSD-3-Clause
// Runs a program: input tensors (float32, bool, integers) are filled with ones, other inputs keep the export's values,
// and outputs that are tensors are printed.
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/platform/log.h>

#include "firmware.h"
#include "model_in_flash.h"

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::Method;

namespace firmware {
namespace {

template <typename T>
void fill(const Tensor& tensor, T one) {
  T* const data = tensor.mutable_data_ptr<T>();
  for (ssize_t i = 0; i < tensor.numel(); ++i) {
    data[i] = one;
  }
}

/// Writes ones to the memory that the exporter planned for an input.
Error fill_with_ones(const Tensor& tensor) {
  ET_CHECK_OR_RETURN_ERROR(
      tensor.numel() == 0 || tensor.mutable_data_ptr() != nullptr, InvalidArgument,
      "An input has no memory: export the program with MemoryPlanningPass(alloc_graph_input=True)");
  switch (tensor.scalar_type()) {
    case ScalarType::Float:
      fill<float>(tensor, 1.0f);
      return Error::Ok;
    case ScalarType::Bool:
      fill<bool>(tensor, true);
      return Error::Ok;
    case ScalarType::Byte:
      fill<uint8_t>(tensor, 1);
      return Error::Ok;
    case ScalarType::Char:
      fill<int8_t>(tensor, 1);
      return Error::Ok;
    case ScalarType::Short:
      fill<int16_t>(tensor, 1);
      return Error::Ok;
    case ScalarType::Int:
      fill<int32_t>(tensor, 1);
      return Error::Ok;
    case ScalarType::Long:
      fill<int64_t>(tensor, 1);
      return Error::Ok;
    default:
      ET_LOG(Error, "An input is of dtype %s: expected float32, bool or an integer",
             executorch::runtime::toString(tensor.scalar_type()));
      return Error::NotSupported;
  }
}

Error set_ones(Method& method, size_t i) {
  const EValue& input = method.get_input(i);
  if (input.isTensor()) {
    const Error error = fill_with_ones(input.toTensor());
    if (error != Error::Ok) {
      return error;
    }
  }
  // The tensor uses the planned memory itself, so that nothing is copied.
  return method.set_input(input, i);
}

/// Stores an element as a float. Returns whether the dtype is one of those that are printed.
bool read_element(const Tensor& tensor, ssize_t i, float& element) {
  switch (tensor.scalar_type()) {
    case ScalarType::Float:
      element = tensor.const_data_ptr<float>()[i];
      return true;
    case ScalarType::Bool:
      element = tensor.const_data_ptr<bool>()[i] ? 1.0f : 0.0f;
      return true;
    case ScalarType::Byte:
      element = tensor.const_data_ptr<uint8_t>()[i];
      return true;
    case ScalarType::Char:
      element = tensor.const_data_ptr<int8_t>()[i];
      return true;
    case ScalarType::Short:
      element = tensor.const_data_ptr<int16_t>()[i];
      return true;
    case ScalarType::Int:
      element = static_cast<float>(tensor.const_data_ptr<int32_t>()[i]);
      return true;
    case ScalarType::Long:
      element = static_cast<float>(tensor.const_data_ptr<int64_t>()[i]);
      return true;
    default:
      return false;
  }
}

void print(size_t output, const Tensor& tensor) {
  for (ssize_t i = 0; i < tensor.numel(); ++i) {
    float element = 0.0f;
    const bool is_printed = read_element(tensor, i, element);
    write("Output[");
    write_number(static_cast<uint32_t>(output));
    write("][");
    write_number(static_cast<uint32_t>(i));
    write("]: (");
    write(executorch::runtime::toString(tensor.scalar_type()));
    write(") ");
    if (is_printed) {
      write_float(element);
    } else {
      write("not printed");
    }
    write("\n");
  }
}

}  // namespace

Error find_program(const void** program, size_t* size) {
  *program = model_pte;
  *size = model_pte_size;
  return Error::Ok;
}

int run(Method& method) {
  for (size_t i = 0; i < method.inputs_size(); ++i) {
    const Error error = set_ones(method, i);
    if (error != Error::Ok) {
      return fail("setting an input to ones", error);
    }
  }
  const Error error = method.execute();
  if (error != Error::Ok) {
    return fail("running the method", error);
  }
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    if (method.get_output(i).isTensor()) {
      print(i, method.get_output(i).toTensor());
    }
  }
  return 0;
}

}  // namespace firmware
