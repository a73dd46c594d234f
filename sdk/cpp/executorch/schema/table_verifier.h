// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Verifies the structure of flatbuffers by one loop over a description of the schema. It accepts what the
 * Verify() functions of the generated readers accept, in a sixth of their code.
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch {
namespace runtime {
namespace internal {

/// The kind of a table's field. The kind of a scalar is its size in bytes.
enum FieldKind : uint8_t {
  kNoField = 0,  ///< deprecated or unused
  kLargestScalar = 8,
  kStringField = 16,
  kTableField = 17,
  kUnionField = 18,  ///< the field before it has the type, which selects the table
  kTableVectorField = 19,
  kScalarVectorField = 32,  ///< plus the size of an element in bytes
};

struct TableField {
  uint8_t kind;
  uint8_t target;  ///< number of the table or union to which it refers
};

/// All tables of a schema (generated: <schema>_tables.h). Table t has the fields from first_fields[t] to before
/// first_fields[t + 1], in the order of its vtable. The tables of unions are stored in the same way, from type 1.
struct TableSchema {
  const TableField* fields;
  const uint16_t* first_fields;
  const uint16_t* union_tables;
  const uint16_t* first_union_tables;
  uint16_t root;
  uint16_t num_tables;  ///< at most kMaxTables
};

/// verify_tables() refuses a schema with more: it would need more memory.
constexpr uint32_t kMaxTables = 40;

/// A 4-byte reference to an instruction or a value leads to at most four tables. The limit above that number allows
/// methods to share parts.
constexpr uint32_t kTablesPerByte = 4;

/**
 * Whether every table, vector, string and union that can be reached from the root is inside the `size` bytes at `data`
 * and aligned.
 *
 * @param data Aligned to the largest alignment of the schema.
 * @param identifier The required value of bytes 4 to 7, or null.
 *
 * A buffer may refer to a part several times, because exporters write equal parts once. A malicious file could use this
 * to make reading endless, so a buffer may have kTablesPerByte tables for each of its bytes, counted as often as they
 * are read.
 *
 * @param max_depth The deepest nesting of tables; every level takes a stack frame.
 */
bool verify_tables(const TableSchema& schema, const void* data, size_t size, const char* identifier,
                   uint32_t max_depth = 32);

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
