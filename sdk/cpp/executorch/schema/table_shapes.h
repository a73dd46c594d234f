// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * What verify_tables() remembers of tables that were right, so as to see at a glance that others are like them: most
 * elements of a vector are. Not used where code is to be small.
 */
#pragma once

#include <cstdint>
#include <cstring>

#include <executorch/schema/table_verifier.h>

namespace executorch {
namespace runtime {
namespace internal {

// What was found once need not be looked for again; but remembering is not worth its code where code is to be small.
#ifdef __OPTIMIZE_SIZE__
constexpr bool kRemembers = false;
#else
constexpr bool kRemembers = true;
#endif

/// Tables of one kind share their vtable: exporters write it once. Then all that differs between them is where they
/// are. This is what a table of the kind needs to be right, other than what it refers to.
///
/// Instead of another reference, a shape may have numbers of eight bytes: then the kind is kNoField, and the parameter
/// is the remainder of its position by eight.
struct Shape {
  static constexpr uint32_t kMaxVectors = 3;

  /// A vector of scalars, the most frequent thing that tables refer to.
  struct Vector {
    uint16_t offset;
    uint16_t element_size;  ///< 0: behind the last one
  };

  uint32_t vtable;
  uint32_t last;       ///< a quarter of the last position where a table of the shape may be; it is at multiples of four
  uint16_t offset;     ///< of one other reference; 0: there is none
  uint8_t kind;        ///< of it, as follows
  uint8_t num_types;   ///< kUnionField: to one of so many tables, from union_tables[table] on,
  uint16_t parameter;  ///< by the byte here, from 1 on. kStringField: offset of another one, if it is not 0
  uint16_t table;      ///< kTableField: to it
  Vector vectors[kMaxVectors + 1];
};

/// The first shapes that tables of each kind had.
class Shapes final {
 public:
  /// The one with the vtable, or null.
  const Shape* find(uint32_t table, uint32_t vtable) const {
    for (const Shape* shape = shapes_[table]; shape != shapes_[table] + counts_[table]; ++shape) {
      if (shape->vtable == vtable) {
        return shape;
      }
    }
    return nullptr;
  }

  bool has_room(uint32_t table) const { return counts_[table] != kMax; }

  /// There is room.
  void add(uint32_t table, const Shape& shape) { shapes_[table][counts_[table]++] = shape; }

 private:
  static constexpr uint32_t kMax = 4;

  static constexpr uint32_t kTables = kRemembers ? kMaxTables : 1;

  uint8_t counts_[kTables] = {};
  Shape shapes_[kTables][kMax];  ///< only the first counts_[table] of a table are set
};

/// Makes the shape of a table that was found right from its fields.
class ShapeBuilder final {
 public:
  void add_scalar(uint32_t offset, uint32_t size) {
    extent_ = offset + size > extent_ ? offset + size : extent_;
    has_eight_bytes_ |= size == 8;
  }

  /// `type_offset`: of the byte before it, which is the type of a union; or 0.
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

  /// The shape, if others can be told by it; or null. `size` is that of the buffer.
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
  uint32_t extent_ = sizeof(uint32_t);  ///< bytes from the table to behind the last of its fields
  uint32_t num_vectors_ = 0;
  bool has_eight_bytes_ = false;
  bool fits_ = true;
};

/// A table and those below it, each referred to by the one before.
struct Path {
  static constexpr uint32_t kMaxTables = 3;  // elements of programs have two levels of tables below them

  struct Step {
    const Shape* shape;
    uint64_t position;
    uint32_t type;  ///< of the union that refers to the next one; or 0
  };

  uint32_t count = 0;
  Step steps[kMaxTables];
};

/// What an element of a vector is like that is a table without vectors and refers to a second one, and that perhaps to
/// a third one, of one kind and without references. Exporters put the first two at the same distance, and behind them
/// the only vector of the second: all this is compared at once. Offsets are from the first table.
struct Pattern {
  uint32_t last;  ///< as in Shape, for the first two and the count of the near vector
  uint32_t vtable;
  uint32_t second;         ///< the distance
  uint32_t second_vtable;  ///< less the distance
  uint32_t reference;      ///< offset of the reference to the second one, and what is there
  uint32_t reference_value;
  uint32_t type;  ///< offset of the type of the union, and what is there, in the bits of the mask; without one, all 0
  uint8_t type_value;
  uint8_t type_mask;
  uint16_t num_tables;
  uint32_t near;  ///< offset of the reference to the near vector, and what is there; without one, as `reference`
  uint32_t near_value;
  uint32_t near_count;         ///< offset of its count; without one, 0
  uint32_t near_element_size;  ///< without one, 0
  uint32_t third;              ///< offset of the reference to the third table; without one, 0
  uint32_t third_last;
  uint32_t third_vtable;
  uint32_t num_vectors;  ///< of the second table, other than the near one
  struct {
    uint32_t offset;
    uint32_t element_size;
  } vectors[Shape::kMaxVectors];
};

/// No element has it: none is at the beginning of the buffer.
constexpr Pattern kNoPattern{};

/// The first patterns of the elements of a vector.
struct Patterns {
  static constexpr uint32_t kMax = 4;
  static constexpr uint32_t kNear = 64;  ///< bytes from a reference to a near vector, at most

  /// Adds that of a path, if there is room and it has one.
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
