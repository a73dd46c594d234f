// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Caches the layout of tables that verify_tables() has accepted, so that further tables with the same layout are
 * checked in a few comparisons: most elements of a vector have the same layout. Not used if code size matters most.
 */
#pragma once

#include <cstdint>
#include <cstring>

#include <executorch/schema/table_verifier.h>

namespace executorch {
namespace runtime {
namespace internal {

// Without the cache, each table is verified completely. The cache is faster, but is not worth its code if code size
// matters most.
#ifdef __OPTIMIZE_SIZE__
constexpr bool kRemembers = false;
#else
constexpr bool kRemembers = true;
#endif

/// The layout of a kind of tables. Exporters write one vtable for all tables of a kind, so they differ only in their
/// positions. A table with this vtable is valid if its position is, and if what it refers to is valid.
///
/// Instead of another reference, a shape may have 8-byte numbers. Then the kind is kNoField, and the parameter is the
/// position modulo eight.
struct Shape {
  static constexpr uint32_t kMaxVectors = 3;

  /// A reference to a vector of scalars, the most frequent kind of reference.
  struct Vector {
    uint16_t offset;
    uint16_t element_size;  ///< 0 marks the end of the list
  };

  uint32_t vtable;
  uint32_t last;       ///< a quarter of the last possible position of such a table; positions are multiples of four
  uint16_t offset;     ///< offset of the reference that is not to a vector of scalars; 0 if there is none
  uint8_t kind;        ///< kind of this reference
  uint8_t num_types;   ///< kUnionField: the number of types, whose tables begin at union_tables[table]
  uint16_t parameter;  ///< kUnionField: offset of the type, from 1. kStringField: offset of another string; 0 if none
  uint16_t table;      ///< kTableField: the table to which the reference leads
  Vector vectors[kMaxVectors + 1];
};

/// The first few shapes of tables of each kind.
class Shapes final {
 public:
  /// The shape with this vtable, or null.
  const Shape* find(uint32_t table, uint32_t vtable) const {
    for (const Shape* shape = shapes_[table]; shape != shapes_[table] + counts_[table]; ++shape) {
      if (shape->vtable == vtable) {
        return shape;
      }
    }
    return nullptr;
  }

  bool has_room(uint32_t table) const { return counts_[table] != kMax; }

  /// Requires has_room(table).
  void add(uint32_t table, const Shape& shape) { shapes_[table][counts_[table]++] = shape; }

 private:
  static constexpr uint32_t kMax = 4;

  static constexpr uint32_t kTables = kRemembers ? kMaxTables : 1;

  uint8_t counts_[kTables] = {};
  Shape shapes_[kTables][kMax];  ///< only the first counts_[table] of each table are set
};

/// Builds the shape of a table that was verified, from its fields.
class ShapeBuilder final {
 public:
  void add_scalar(uint32_t offset, uint32_t size) {
    extent_ = offset + size > extent_ ? offset + size : extent_;
    has_eight_bytes_ |= size == 8;
  }

  /// `type_offset`: the offset of the byte with the type, if the reference is a union; else 0.
  void add_reference(uint32_t offset, uint32_t type_offset, TableField field, const TableSchema& schema) {
    add_scalar(offset, sizeof(uint32_t));
    if (field.kind > kScalarVectorField && num_vectors_ < Shape::kMaxVectors) {
      shape_.vectors[num_vectors_++] = {static_cast<uint16_t>(offset),
                                        static_cast<uint16_t>(field.kind - kScalarVectorField)};
    } else if (field.kind == kStringField && shape_.kind == kStringField && shape_.parameter == 0) {
      shape_.parameter = static_cast<uint16_t>(offset);
    } else if (shape_.offset == 0 && (field.kind == kTableField || field.kind == kStringField ||
                                      (field.kind == kUnionField && type_offset != 0))) {
      shape_.offset = static_cast<uint16_t>(offset);
      shape_.kind = field.kind;
      shape_.table = field.target;
      if (field.kind == kUnionField) {
        shape_.parameter = static_cast<uint16_t>(type_offset);
        shape_.table = schema.first_union_tables[field.target];
        shape_.num_types = static_cast<uint8_t>(schema.first_union_tables[field.target + 1] - shape_.table);
      }
    } else {
      fits_ = false;
    }
  }

  /// Returns the shape, or null if a shape cannot describe the table. `size` is the size of the buffer.
  const Shape* build(uint32_t position, uint32_t vtable, uint32_t size) {
    if (has_eight_bytes_) {
      fits_ &= shape_.offset == 0;
      shape_.offset = 1;
      shape_.parameter = static_cast<uint16_t>(position % 8);
    }
    shape_.vtable = vtable;
    shape_.last = (size - extent_) / static_cast<uint32_t>(sizeof(uint32_t));
    return fits_ ? &shape_ : nullptr;
  }

 private:
  Shape shape_{};
  uint32_t extent_ = sizeof(uint32_t);  ///< bytes from the start of the table to the end of its last field
  uint32_t num_vectors_ = 0;
  bool has_eight_bytes_ = false;
  bool fits_ = true;
};

/// A table and the tables below it, each of which the table before it refers to.
struct Path {
  static constexpr uint32_t kMaxTables = 3;  // elements of programs have two levels of tables below them

  struct Step {
    const Shape* shape;
    uint64_t position;
    uint32_t type;  ///< type of the union that refers to the next table, or 0
  };

  uint32_t count = 0;
  Step steps[kMaxTables];
};

/// The layout of an element of a vector together with the tables below it. The element is a table without vectors that
/// refers to a second table. The second one may refer to a third, whose kind is fixed and which has no references.
/// Exporters write the second table at a constant distance from the first, and then the second table's only vector, so
/// that one comparison covers all. Offsets are relative to the first table.
struct Pattern {
  uint32_t last;  ///< as in Shape, for the first two tables and the count of the near vector
  uint32_t vtable;
  uint32_t second;         ///< distance from the first table
  uint32_t second_vtable;  ///< minus the distance
  uint32_t reference;      ///< offset of the reference to the second table, and its value
  uint32_t reference_value;
  uint32_t type;  ///< offset of the union's type, and its value in the bits of the mask; all 0 without a union
  uint8_t type_value;
  uint8_t type_mask;
  uint16_t num_tables;
  uint32_t near;  ///< offset of the reference to the near vector, and its value; as `reference` if there is none
  uint32_t near_value;
  uint32_t near_count;         ///< offset of its count; 0 if there is none
  uint32_t near_element_size;  ///< 0 if there is none
  uint32_t third;              ///< offset of the reference to the third table; 0 if there is none
  uint32_t third_last;
  uint32_t third_vtable;
  uint32_t num_vectors;  ///< vectors of the second table, except the near one
  struct {
    uint32_t offset;
    uint32_t element_size;
  } vectors[Shape::kMaxVectors];
};

/// No element matches it, because no table is at the beginning of the buffer.
constexpr Pattern kNoPattern{};

/// The first patterns of the elements of a vector.
struct Patterns {
  static constexpr uint32_t kMax = 4;
  static constexpr uint32_t kNear = 64;  ///< the largest distance in bytes from a reference to a near vector

  /// Adds the pattern of a path, if it has one and there is room.
  void add(const uint8_t* data, const Path& path) {
    const Path::Step& first = path.steps[0];
    const Path::Step& second = path.steps[1];
    const Path::Step& third = path.steps[path.count - 1];
    const bool has_third = path.count == 3;
    if (count == kMax || path.count == 1 || first.shape->vectors[0].element_size != 0 ||
        (has_third && (third.shape->vectors[0].element_size != 0 || second.shape->kind == kUnionField))) {
      return;
    }
    const auto distance = static_cast<uint32_t>(second.position - first.position);
    const bool has_type = first.shape->kind == kUnionField;
    Pattern& pattern = patterns[count++];
    pattern.last = second.shape->last - distance / 4;
    pattern.vtable = first.shape->vtable;
    pattern.second = distance;
    pattern.second_vtable = second.shape->vtable - distance;
    pattern.near = pattern.reference = first.shape->offset;
    pattern.near_value = pattern.reference_value = distance - pattern.reference;
    pattern.near_count = 0;
    pattern.near_element_size = 0;
    pattern.type = has_type ? first.shape->parameter : 0;
    pattern.type_mask = has_type ? 0xff : 0;
    pattern.type_value = static_cast<uint8_t>(first.type);
    pattern.num_tables = static_cast<uint16_t>(path.count);
    pattern.third = has_third ? distance + second.shape->offset : 0;
    pattern.third_last = third.shape->last;
    pattern.third_vtable = third.shape->vtable;
    pattern.num_vectors = 0;
    for (const Shape::Vector* field = second.shape->vectors; field->element_size != 0; ++field) {
      pattern.vectors[pattern.num_vectors++] = {distance + field->offset, field->element_size};
    }
    if (pattern.num_vectors == 1 && !has_third) {
      uint32_t value;
      std::memcpy(&value, data + first.position + pattern.vectors[0].offset, sizeof(value));
      if (value <= kNear && pattern.last > kNear / 4) {
        pattern.num_vectors = 0;
        pattern.near = pattern.vectors[0].offset;
        pattern.near_value = value;
        pattern.near_count = pattern.near + value;
        pattern.near_element_size = pattern.vectors[0].element_size;
        pattern.last -= kNear / 4;
      }
    }
    pattern.last = pattern.last < first.shape->last ? pattern.last : first.shape->last;
  }

  uint32_t count = 0;
  Pattern patterns[kMax];
};

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
