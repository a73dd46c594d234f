// SPDX-License-Identifier: BSD-3-Clause
// The part of DLPack's exchange API for C that is used here (https://dmlc.github.io/dlpack): a library of tensors
// offers a table of functions, with which others read its tensors without a call into Python and without linking to it.
#pragma once

#include <cstdint>

namespace executorch {
namespace extension {
namespace pybindings {
namespace dlpack {

constexpr uint32_t kMajorVersion = 1;
constexpr const char* kCapsuleName = "dlpack_exchange_api";

constexpr int32_t kCpu = 1;  // a device type

enum TypeCode : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void* data;
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements
  uint64_t byte_offset;
};

struct ExchangeApi {
  uint32_t major;
  uint32_t minor;
  ExchangeApi* previous;
  void (*allocate)();
  void (*owning_from_object)();
  void (*object_from_owning)();
  /// Describes a tensor; the description is valid as long as the object is alive and unchanged. Returns 0, or -1 with a
  /// Python exception set. Null in libraries without such a function.
  int (*view_of_object)(void* object, Tensor* out);
  void (*current_stream)();
};

}  // namespace dlpack
}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
