// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/schema/table_verifier.h>

#include <cstring>

#include <flatbuffers/base.h>

#include <executorch/runtime/platform/compiler.h>

namespace executorch {
namespace runtime {
namespace internal {
namespace {

// Lists of numbers and the bytes of tensors are used where they lie in the file.
static_assert(FLATBUFFERS_LITTLEENDIAN, "Programs are little-endian; this machine is not.");

using flatbuffers::ReadScalar;

// Positions, and offsets between them, stay below 2^31: no sum of two of them wraps.
constexpr uint32_t kSizeLimit = INT32_MAX;
constexpr uint32_t kOffsetSize = sizeof(uint32_t);

// What was found once need not be looked for again; but remembering is not worth its code where code is to be small.
#ifdef __OPTIMIZE_SIZE__
constexpr bool kRemembers = false;
#else
constexpr bool kRemembers = true;
#endif

/// Tables of one kind share their vtable: exporters write it once. Then all that differs between them is where they
/// are. This is what a table of the kind needs to be right, other than what it refers to.
struct Shape {
  static constexpr uint32_t kMaxVectors = 3;

  /// A vector of scalars, the most frequent thing that tables refer to.
  struct Vector {
    uint16_t offset;
    uint16_t element_size;
  };

  uint32_t vtable;
  uint32_t extent;  ///< bytes from the table to behind the last of its fields
  /// The fields are aligned in every table whose position has this remainder by alignment_mask + 1.
  uint8_t remainder;
  uint8_t alignment_mask;
  uint8_t num_vectors;
  TableField field;      ///< of the one other reference
  uint16_t offset;       ///< of that; 0: there is none
  uint16_t type_offset;  ///< if it is a union: of the field before it, if that is a byte,
  uint16_t first_type;   ///< and what it may be
  uint16_t num_types;
  Vector vectors[kMaxVectors];
};

/// No table has it: no remainder is that large.
constexpr Shape kNoShape{0, 0, 1, 0, 0, {}, 0, 0, 0, 0, {}};

/// The first shapes that tables of one kind had; kNoShape behind them.
struct Shapes {
  static constexpr uint32_t kMaxShapes = 4;

  Shape shapes[kMaxShapes];
};

/// What a table is like, while its fields are looked at.
class ShapeBuilder final {
 public:
  void add_field(uint32_t offset, uint32_t size) {
    shape_.extent = offset + size > shape_.extent ? offset + size : shape_.extent;
    shape_.alignment_mask |= static_cast<uint8_t>(size - 1);
  }

  void add_reference(uint32_t offset, uint32_t type_offset, TableField field, const TableSchema& schema) {
    if (field.kind > kScalarVectorField && shape_.num_vectors < Shape::kMaxVectors) {
      shape_.vectors[shape_.num_vectors++] = {static_cast<uint16_t>(offset),
                                              static_cast<uint16_t>(field.kind - kScalarVectorField)};
    } else if (shape_.offset == 0 && (field.kind == kTableField || field.kind == kUnionField)) {
      shape_.offset = static_cast<uint16_t>(offset);
      shape_.type_offset = static_cast<uint16_t>(type_offset);
      shape_.field = field;
      if (field.kind == kUnionField && type_offset != 0) {
        shape_.first_type = schema.first_union_tables[field.target];
        shape_.num_types = static_cast<uint16_t>(schema.first_union_tables[field.target + 1] - shape_.first_type);
      }
    } else {
      fits_ = false;
    }
  }

  /// Adds it to those that are known, if there is room.
  void remember(uint32_t position, uint32_t vtable, Shapes& known) {
    shape_.vtable = vtable;
    shape_.remainder = static_cast<uint8_t>(position & shape_.alignment_mask);
    for (Shape& other : known.shapes) {
      if (fits_ && other.remainder > other.alignment_mask) {
        other = shape_;
      }
      if (other.vtable == vtable) {
        return;
      }
    }
  }

 private:
  Shape shape_{0, kOffsetSize, 0, kOffsetSize - 1, 0, {}, 0, 0, 0, 0, {}};
  bool fits_ = true;
};

/// An element of a vector of tables that was found right, with all below it.
struct Seen {
  uint64_t element;  ///< its position, kind and level; 0: none, nothing refers to the start of the buffer
  uint64_t tables;   ///< below it, and itself
};

class TableVerifier final {
 public:
  TableVerifier(const TableSchema& schema, const uint8_t* data, uint32_t size)
      : schema_(schema), data_(data), size_(size), tables_left_(uint64_t{size} * kTablesPerByte) {
    if constexpr (kRemembers) {
      for (Shapes& shapes : shapes_) {
        for (Shape& shape : shapes.shapes) {
          shape = kNoShape;
        }
      }
      for (Seen& seen : seen_) {
        seen.element = 0;
      }
    }
  }

  bool verify_root(uint32_t max_depth) {
    return follow(0, {kTableField, static_cast<uint8_t>(schema_.root)}, 0, max_depth);
  }

 private:
  /// Whether `length` bytes at `position` are in the buffer.
  bool is_inside(uint32_t position, uint32_t length) const { return length <= size_ && position <= size_ - length; }

  /// The same for a scalar or an offset, which must be aligned to its size, a power of two.
  bool is_scalar(uint32_t position, uint32_t size) const {
    return (position & (size - 1)) == 0 && position <= size_ - size;
  }

  template <typename T>
  T read(uint32_t position) const {
    return ReadScalar<T>(data_ + position);
  }

  /// A table above at most `levels` - 1 others.
  bool verify_table(uint32_t position, uint32_t table, uint32_t levels) {
    if (levels == 0 || tables_left_ == 0 || !is_scalar(position, kOffsetSize)) {
      return false;
    }
    --tables_left_;
    // May be before or behind the table; one that is before the buffer wraps to where is_scalar() refuses it.
    return verify_fields(position, position - read<uint32_t>(position), table, levels - 1);
  }

  /// Whether a table with kLevels - 1 levels of others below it is right, as far as that can be told from the shapes of
  /// others: most elements of a vector are like the first ones. Increases `*tables` by the number of tables.
  template <uint32_t kLevels>
  ET_INLINE bool is_like_others(uint32_t position, uint32_t table, uint32_t* tables) const {
    if (!is_scalar(position, kOffsetSize)) {
      return false;
    }
    const uint32_t vtable = position - read<uint32_t>(position);
    const Shape* shape = shapes_[table].shapes;
    for (uint32_t i = 1; i < Shapes::kMaxShapes && shape->vtable != vtable; ++i) {
      ++shape;
    }
    return shape->vtable == vtable && is_placed_as(position, *shape) &&
           references_are_like_others<kLevels>(position, *shape, tables);
  }

  /// Whether a table of that shape may be at `position`.
  bool is_placed_as(uint32_t position, const Shape& shape) const {
    return (position & shape.alignment_mask) == shape.remainder && position <= size_ - shape.extent;
  }

  /// The same for what a table of that shape refers to.
  template <uint32_t kLevels>
  ET_INLINE bool references_are_like_others(uint32_t position, const Shape& shape, uint32_t* tables) const {
    ++*tables;
    for (uint32_t i = 0; i < shape.num_vectors; ++i) {
      uint32_t vector = position + shape.vectors[i].offset;
      const uint32_t offset = read<uint32_t>(vector);
      vector += offset;
      uint32_t count = 0;
      if (offset - 1 >= kSizeLimit || !verify_vector(vector, shape.vectors[i].element_size, &count)) {
        return false;
      }
    }
    if (shape.offset == 0) {
      return true;
    }
    if constexpr (kLevels == 1) {
      return false;
    } else {
      uint32_t table = shape.field.target;
      if (shape.field.kind == kUnionField) {
        const uint32_t type = data_[position + shape.type_offset];
        if (type - 1 >= shape.num_types) {
          return false;  // not read, or damaged
        }
        table = schema_.union_tables[shape.first_type + type - 1];
      }
      const uint32_t below = position + shape.offset;
      const uint32_t offset = read<uint32_t>(below);
      return offset - 1 < kSizeLimit && is_like_others<kLevels - 1>(below + offset, table, tables);
    }
  }

  /// A table with its vtable.
  ET_NOINLINE bool verify_fields(uint32_t position, uint32_t vtable, uint32_t table, uint32_t levels) {
    if (!is_scalar(vtable, sizeof(uint16_t))) {
      return false;
    }
    const uint32_t vtable_size = read<uint16_t>(vtable);
    if (vtable_size % 2 != 0 || !is_inside(vtable, vtable_size)) {
      return false;
    }
    [[maybe_unused]] ShapeBuilder shape;
    // Its first two entries are sizes. Older programs have fewer fields than the schema, newer ones more.
    uint32_t entry = vtable + 2 * sizeof(uint16_t);
    const uint32_t end = vtable + vtable_size;
    const TableField* field = schema_.fields + schema_.first_fields[table];
    const TableField* const last = schema_.fields + schema_.first_fields[table + 1];
    for (uint32_t type_offset = 0; field < last && entry < end; ++field, entry += sizeof(uint16_t)) {
      const uint32_t offset = read<uint16_t>(entry);
      const uint32_t kind = field->kind;
      if (offset == 0 || kind == kNoField) {
        type_offset = 0;
        continue;
      }
      const uint32_t size = kind <= kLargestScalar ? kind : kOffsetSize;
      if (!is_scalar(position + offset, size)) {
        return false;
      }
      if constexpr (kRemembers) {
        shape.add_field(offset, size);
      }
      if (kind <= kLargestScalar) {
        type_offset = kind == 1 ? offset : 0;
        continue;
      }
      if (!follow(position + offset, *field, type_offset == 0 ? 0 : data_[position + type_offset], levels)) {
        return false;
      }
      if constexpr (kRemembers) {
        shape.add_reference(offset, type_offset, *field, schema_);
      }
    }
    if constexpr (kRemembers) {
      shape.remember(position, vtable, shapes_[table]);
    }
    return true;
  }

  /// What the offset at `position` leads to.
  bool follow(uint32_t position, TableField field, uint32_t union_type, uint32_t levels) {
    const uint32_t offset = read<uint32_t>(position);
    if (offset == 0 || offset > kSizeLimit) {
      return false;
    }
    position += offset;
    uint32_t count = 0;
    switch (field.kind) {
      case kTableField:
        return verify_table(position, field.target, levels);
      case kUnionField: {
        const uint32_t first = schema_.first_union_tables[field.target];
        // What is of an unknown type is not read.
        const bool known = union_type > 0 && union_type <= schema_.first_union_tables[field.target + 1] - first;
        return known ? verify_table(position, schema_.union_tables[first + union_type - 1], levels)
                     : is_inside(position, 1);
      }
      case kTableVectorField:
        return verify_vector(position, kOffsetSize, &count) && verify_elements(position, count, field.target, levels);
      case kStringField:
        return verify_vector(position, 1, &count) && is_inside(position + kOffsetSize + count, 1) &&
               data_[position + kOffsetSize + count] == '\0';
      default:
        return verify_vector(position, field.kind - kScalarVectorField, &count);
    }
  }

  bool verify_vector(uint32_t position, uint32_t element_size, uint32_t* count) const {
    if (!is_scalar(position, kOffsetSize)) {
      return false;
    }
    *count = read<uint32_t>(position);
    return uint64_t{*count} * element_size <= size_ - kOffsetSize - position;
  }

  ET_NOINLINE bool verify_elements(uint32_t vector, uint32_t count, uint32_t table, uint32_t levels) {
    [[maybe_unused]] Shape shape = kNoShape;
    for (uint32_t i = 0, position = vector + kOffsetSize; i < count; ++i, position += kOffsetSize) {
      const uint32_t offset = read<uint32_t>(position);
      if (offset > kSizeLimit) {
        return false;
      }
      const uint32_t element = position + offset;
      if constexpr (!kRemembers) {
        if (!verify_table(element, table, levels)) {
          return false;
        }
      } else {
        // Programs refer to equal instructions and values many times.
        const uint64_t key = element | uint64_t{table} << 32 | uint64_t{levels} << 48;
        Seen& seen = seen_[element * 2654435769u >> (32 - kSeenBits)];  // Fibonacci hashing (Knuth)
        if (seen.element == key && seen.tables <= tables_left_) {
          tables_left_ -= seen.tables;
          continue;
        }
        const uint64_t before = tables_left_;
        // Elements of programs have two levels of tables below them.
        constexpr uint32_t kLevels = 3;
        uint32_t tables = 0;
        if (is_placed_as(element, shape) && element - read<uint32_t>(element) == shape.vtable && levels >= kLevels &&
            references_are_like_others<kLevels>(element, shape, &tables) && tables <= tables_left_) {
          tables_left_ -= tables;
        } else {
          if (!verify_table(element, table, levels)) {
            return false;
          }
          shape = shapes_[table].shapes[0];
        }
        seen = {key, before - tables_left_};
      }
    }
    return true;
  }

  const TableSchema& schema_;
  const uint8_t* const data_;
  const uint32_t size_;
  uint64_t tables_left_;

  static constexpr uint32_t kSeenBits = kRemembers ? 8 : 1;
  Shapes shapes_[kRemembers ? kMaxTables : 1];
  Seen seen_[1u << kSeenBits];
};

}  // namespace

bool verify_tables(const TableSchema& schema, const void* data, size_t size, const char* identifier,
                   uint32_t max_depth) {
  // The offset to the root, and the smallest table with its vtable.
  constexpr size_t kMinSize = 10;
  const auto* bytes = static_cast<const uint8_t*>(data);
  if (schema.num_tables > kMaxTables || size < kMinSize || size >= kSizeLimit ||
      (identifier != nullptr && std::memcmp(bytes + kOffsetSize, identifier, kOffsetSize) != 0)) {
    return false;
  }
  return TableVerifier(schema, bytes, static_cast<uint32_t>(size)).verify_root(max_depth);
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
