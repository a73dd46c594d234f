// SPDX-License-Identifier: BSD-3-Clause
// The reader of payloads for MPS: a header, the graph as a flatbuffer, and the bytes of constants. Payloads are not
// trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>

#include "node_types.h"

namespace executorch {
namespace backends {
namespace mps {

/// Types of elements, by the numbers of the format. Payloads with others are refused.
enum class DataType : int16_t {
  Float16 = 1,
  Float32 = 2,
  Int4 = 5,
  Int8 = 6,
  Int16 = 7,
  Int32 = 8,
  Int64 = 9,
  UInt8 = 11,
  Bool = 15,
};

const char* name_of(DataType type);
/// The dtype of tensors with these elements; Undefined for Int4.
executorch::aten::ScalarType scalar_type_of(DataType type);
bool is_float(DataType type);
/// Bytes of an element; 0 for Int4, whose elements are half a byte.
size_t element_size(DataType type);

using Sizes = std::vector<int64_t>;

/// The number of elements.
int64_t count_of(const Sizes& sizes);
/// "[1, 5, 10]".
std::string text_of(const Sizes& sizes);

/// The dtype and sizes of a value. A value of rank 0 has the sizes {1}, because MPSGraph's constants have a rank.
struct Type {
  DataType type = DataType::Float32;
  Sizes sizes;
};

/// A value as the payload declares it. `data` are the bytes of a constant, in the payload; null for other values.
struct Value : Type {
  const uint8_t* data = nullptr;
  size_t data_size = 0;
};

constexpr int32_t kAbsent = -1;

/// A node. The fields of a kind are in the order of the table: the form "orif" has one operand, one result, one of
/// `integers` (i, l, b and d) and one of `floats`.
struct Node {
  NodeType type = NodeType::None;
  std::vector<int32_t> operands;  ///< ids; kAbsent for one that is not given
  std::vector<int32_t> results;
  std::vector<int64_t> integers;
  std::vector<float> floats;
  std::vector<Sizes> lists;
  std::string text;
  float low, high;  ///< the bounds of a clamp
};

/// Nodes in the order of execution. Ids are positions in `values`.
struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<int32_t> inputs, outputs, constants;
};

/**
 * Reads a payload and checks it: offsets, the ids of every node, dtypes, sizes, and that constants lie inside. Whether
 * operands fit an operation is not checked: see infer().
 *
 * @param payload Its constants are not copied: it must live as long as the graph.
 * @returns InvalidProgram (logged) for a damaged payload, or NotSupported (logged) for a graph with values or nodes
 *     that MPS does not have.
 */
runtime::Result<Graph> read_payload(const void* payload, size_t size);

}  // namespace mps
}  // namespace backends
}  // namespace executorch
