// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/schema/table_verifier.h>

#include <cstring>

#include <flatbuffers/base.h>

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
  static constexpr uint32_t kMaxReferences = 4;
  static constexpr uint32_t kUnknown = UINT32_MAX;  // never aligned as a vtable is

  struct Reference {
    uint16_t offset;
    uint16_t type_offset;  ///< of the field before a union
    TableField field;
  };

  uint32_t vtable;
  uint32_t table;
  uint32_t extent;  ///< bytes from the table to behind the last of its fields
  /// The fields are aligned in every table whose position has this remainder by alignment_mask + 1.
  uint8_t remainder;
  uint8_t alignment_mask;
  uint16_t num_references;
  Reference references[kMaxReferences];
};

/// An element of a vector of tables that was found right, with all below it.
struct Seen {
  uint32_t position;  ///< 0: none, nothing refers to the start of the buffer
  uint32_t tables;    ///< below it, and itself
  uint16_t table;
  uint16_t levels;  ///< how many were left
};

class TableVerifier final {
 public:
  TableVerifier(const TableSchema& schema, const uint8_t* data, uint32_t size, uint32_t max_depth)
      : schema_(schema),
        data_(data),
        size_(size),
        tables_left_(uint64_t{size} * kTablesPerByte),
        levels_left_(max_depth) {
    if constexpr (kRemembers) {
      for (Shape& shape : shapes_) {
        shape = Shape{Shape::kUnknown, 0, 0, 0, 0, 0, {}};
      }
      for (Seen& seen : seen_) {
        seen = {0, 0, 0, 0};
      }
    }
  }

  bool verify_root() { return follow(0, {kTableField, static_cast<uint8_t>(schema_.root)}, 0); }

 private:
  /// Whether `length` bytes at `position` are in the buffer.
  bool is_inside(uint32_t position, uint32_t length) const {
    if constexpr (sizeof(size_t) > sizeof(uint32_t)) {
      return size_t{position} + length <= size_;
    } else {
      return length < size_ && position <= size_ - length;
    }
  }

  /// The same for a scalar or an offset, which must be aligned to its size, a power of two.
  bool is_scalar(uint32_t position, uint32_t size) const {
    return (position & (size - 1)) == 0 && is_inside(position, size);
  }

  template <typename T>
  T read(uint32_t position) const {
    return ReadScalar<T>(data_ + position);
  }

  bool verify_table(uint32_t position, uint32_t table) {
    if (levels_left_ == 0 || tables_left_ == 0 || !is_scalar(position, kOffsetSize)) {
      return false;
    }
    // May be before or behind the table; one that is before the buffer wraps to where is_scalar() refuses it.
    const uint32_t vtable = position - read<uint32_t>(position);
    --levels_left_;
    --tables_left_;
    bool good = false;
    if constexpr (kRemembers) {
      const Shape& shape = shapes_[shape_slot(vtable, table)];
      good = shape.vtable == vtable && shape.table == table && (position & shape.alignment_mask) == shape.remainder
                 ? verify_shaped(position, shape)
                 : verify_fields(position, vtable, table);
    } else {
      good = verify_fields(position, vtable, table);
    }
    ++levels_left_;
    return good;
  }

  /// Fibonacci hashing (Knuth).
  static uint32_t slot(uint32_t key, uint32_t bits) { return key * 2654435769u >> (32 - bits); }
  static uint32_t shape_slot(uint32_t vtable, uint32_t table) { return slot(vtable + table, kShapeBits); }

  /// A table that is laid out as another one of its kind. The shape stays what it is: a slot is written once.
  bool verify_shaped(uint32_t position, const Shape& shape) {
    if (!is_inside(position, shape.extent)) {
      return false;
    }
    for (uint32_t i = 0; i < shape.num_references; ++i) {
      const Shape::Reference& reference = shape.references[i];
      const uint32_t type = reference.type_offset == 0 ? 0 : data_[position + reference.type_offset];
      if (!follow(position + reference.offset, reference.field, type)) {
        return false;
      }
    }
    return true;
  }

  /// A table with its vtable.
  bool verify_fields(uint32_t position, uint32_t vtable, uint32_t table) {
    if (!is_scalar(vtable, sizeof(uint16_t))) {
      return false;
    }
    const uint32_t vtable_size = read<uint16_t>(vtable);
    if (vtable_size % 2 != 0 || !is_inside(vtable, vtable_size)) {
      return false;
    }
    Shape shape{};
    shape.extent = kOffsetSize;
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
        shape.extent = offset + size > shape.extent ? offset + size : shape.extent;
        shape.alignment_mask |= static_cast<uint8_t>(size - 1);
      }
      if (kind <= kLargestScalar) {
        type_offset = kind == 1 ? offset : 0;
        continue;
      }
      if (!follow(position + offset, *field, type_offset == 0 ? 0 : data_[position + type_offset])) {
        return false;
      }
      if constexpr (kRemembers) {
        if (shape.num_references < Shape::kMaxReferences) {
          shape.references[shape.num_references] = {static_cast<uint16_t>(offset), static_cast<uint16_t>(type_offset),
                                                    *field};
        }
        ++shape.num_references;
      }
    }
    if constexpr (kRemembers) {
      Shape& slot = shapes_[shape_slot(vtable, table)];
      if (slot.vtable == Shape::kUnknown && shape.num_references <= Shape::kMaxReferences) {
        shape.vtable = vtable;
        shape.table = table;
        shape.remainder = static_cast<uint8_t>(position & shape.alignment_mask);
        slot = shape;
      }
    }
    return true;
  }

  /// What the offset at `position` leads to.
  bool follow(uint32_t position, TableField field, uint32_t union_type) {
    const uint32_t offset = read<uint32_t>(position);
    if (offset == 0 || offset > kSizeLimit) {
      return false;
    }
    position += offset;
    uint32_t count = 0;
    switch (field.kind) {
      case kTableField:
        return verify_table(position, field.target);
      case kUnionField: {
        const uint32_t first = schema_.first_union_tables[field.target];
        // What is of an unknown type is not read.
        const bool known = union_type > 0 && union_type <= schema_.first_union_tables[field.target + 1] - first;
        return known ? verify_table(position, schema_.union_tables[first + union_type - 1]) : is_inside(position, 1);
      }
      case kTableVectorField:
        return verify_vector(position, kOffsetSize, &count) && verify_elements(position, count, field.target);
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
    const uint64_t bytes = uint64_t{*count} * element_size;
    return bytes < size_ && is_inside(position, kOffsetSize + static_cast<uint32_t>(bytes));
  }

  bool verify_elements(uint32_t vector, uint32_t count, uint32_t table) {
    for (uint32_t i = 0, position = vector + kOffsetSize; i < count; ++i, position += kOffsetSize) {
      const uint32_t offset = read<uint32_t>(position);
      if (offset > kSizeLimit || !verify_element(position + offset, table)) {
        return false;
      }
    }
    return true;
  }

  /// Programs refer to equal instructions and values many times.
  bool verify_element(uint32_t position, uint32_t table) {
    if constexpr (kRemembers) {
      Seen& seen = seen_[slot(position, kSeenBits)];
      if (seen.position == position && seen.table == table && seen.levels <= levels_left_ &&
          seen.tables <= tables_left_) {
        tables_left_ -= seen.tables;
        return true;
      }
      const uint64_t before = tables_left_;
      if (!verify_table(position, table)) {
        return false;
      }
      const uint64_t tables = before - tables_left_;
      if (tables <= UINT32_MAX && levels_left_ <= UINT16_MAX) {
        seen = {position, static_cast<uint32_t>(tables), static_cast<uint16_t>(table),
                static_cast<uint16_t>(levels_left_)};
      }
      return true;
    } else {
      return verify_table(position, table);
    }
  }

  const TableSchema& schema_;
  const uint8_t* const data_;
  const uint32_t size_;
  uint64_t tables_left_;
  uint32_t levels_left_;

  static constexpr uint32_t kShapeBits = kRemembers ? 7 : 1;
  static constexpr uint32_t kSeenBits = kRemembers ? 8 : 1;
  Shape shapes_[1u << kShapeBits];
  Seen seen_[1u << kSeenBits];
};

}  // namespace

bool verify_tables(const TableSchema& schema, const void* data, size_t size, const char* identifier,
                   uint32_t max_depth) {
  // The offset to the root, and the smallest table with its vtable.
  constexpr size_t kMinSize = 10;
  const auto* bytes = static_cast<const uint8_t*>(data);
  if (size < kMinSize || size >= kSizeLimit ||
      (identifier != nullptr && std::memcmp(bytes + kOffsetSize, identifier, kOffsetSize) != 0)) {
    return false;
  }
  return TableVerifier(schema, bytes, static_cast<uint32_t>(size), max_depth).verify_root();
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
