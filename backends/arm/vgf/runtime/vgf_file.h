// SPDX-License-Identifier: BSD-3-Clause
// VGF files: SPIR-V modules, the sequence of segments that run them, their resources, and constants. Files are
// untrusted.
//
//   header (128 bytes)  "VGF1", uint16 version of Vulkan's headers, 2 unused bytes; uint8 major, minor, patch, 5 unused
//                       bytes; uint64 offset and uint64 size of four sections: modules, sequence, resources,
//                       constants; 48 unused bytes
//   sections            flatbuffers; constants of 0.4: "CONST00\0", uint64 count, records of uint32 resource, int32
//                       sparse dimension, uint64 size, uint64 offset; the bytes follow, and offsets count from there
//
// All numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace backends {
namespace vgf {

enum class Category : uint8_t { Input, Output, Intermediate, Constant };

/// A tensor of the model. All of them are packed, outermost dimension first.
struct Resource {
  Category category;
  uint32_t format;             ///< a VkFormat
  std::vector<int64_t> shape;  ///< at least one dimension, no size 0; {1} for a tensor of rank 0
  runtime::etensor::ScalarType scalar_type;
  size_t bytes;
};

/// A resource at a binding of a descriptor set.
struct Slot {
  uint32_t binding;
  uint32_t resource;
};

struct Module {
  std::string entry_point;
  std::vector<uint32_t> code;  ///< SPIR-V
};

/// A graph that runs with its tensors and constants.
struct Segment {
  uint32_t module;
  std::vector<std::vector<Slot>> sets;  ///< the descriptor sets 0, 1, ...; no binding twice in one
  std::vector<uint32_t> constants;      ///< numbers of constants; their position is the id in the module
};

struct Constant {
  uint32_t resource;
  const uint8_t* data;  ///< in the file
};

struct VgfFile {
  std::vector<Module> modules;
  std::vector<Resource> resources;
  std::vector<Constant> constants;
  std::vector<Segment> segments;  ///< run in sequence
  std::vector<uint32_t> inputs;   ///< resources, in the order of the delegate's arguments
  std::vector<uint32_t> outputs;
};

/**
 * Reads and checks a whole file. The result is consistent: every number of a module, resource or constant exists,
 * constants have the size of their resource, inputs and outputs have their category, and slots are tensors.
 *
 * @param data Must outlive the result, whose constants point into it.
 * @returns InvalidProgram (logged) if the file is damaged; NotSupported (logged) for compute shaders, images, sparse
 *     constants, and other major versions of the format.
 */
runtime::Result<VgfFile> read_vgf(const void* data, size_t size);

}  // namespace vgf
}  // namespace backends
}  // namespace executorch
