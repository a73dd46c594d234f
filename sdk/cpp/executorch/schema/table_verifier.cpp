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

  uint32_t last;       ///< a quarter of the last position where a table of the shape may be; it is at multiples of four
  uint16_t offset;     ///< of one other reference; 0: there is none
  uint8_t kind;        ///< of it, as follows
  uint8_t num_types;   ///< kUnionField: to one of so many tables, from union_tables[table] on,
  uint16_t parameter;  ///< by the byte here, from 1 on. kStringField: offset of another one, if it is not 0
  uint16_t table;      ///< kTableField: to it
  Vector vectors[kMaxVectors + 1];
};

constexpr uint32_t kMaxShapes = 4;

/// Where the vtables of the first shapes are that tables of one kind had, and kNoVtable behind them. Apart from the
/// shapes: these are what is searched and what must be cleared.
struct Vtables {
  uint64_t positions[kMaxShapes];
};

/// No table has its vtable there.
constexpr uint64_t kNoVtable = uint64_t{1} << 32;

/// The shapes of a table and of those below it, each referred to by the one before.
struct Chain {
  static constexpr uint32_t kMaxTables = 3;  // elements of programs have two levels of tables below them

  struct Link {
    const Shape* shape;
    uint32_t vtable;
    uint32_t type;  ///< of the union that refers to the next one
  };

  uint32_t count = 0;
  Link links[kMaxTables];
};

/// What a table is like, while its fields are looked at.
class ShapeBuilder final {
 public:
  void add_field(uint32_t offset, uint32_t size) {
    extent_ = offset + size > extent_ ? offset + size : extent_;
    has_eight_bytes_ |= size == 8;
  }

  void add_reference(uint32_t offset, uint32_t type_offset, TableField field, const TableSchema& schema) {
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

  /// Adds it to those that are known, if there is room. `size` is that of the buffer.
  void remember(uint32_t position, uint32_t vtable, uint32_t size, Vtables& vtables, Shape* shapes) {
    if (has_eight_bytes_) {
      fits_ &= shape_.offset == 0;
      shape_.offset = 1;
      shape_.parameter = static_cast<uint16_t>(position % 8);
    }
    for (uint32_t i = 0; fits_ && i < kMaxShapes && vtables.positions[i] != vtable; ++i) {
      if (vtables.positions[i] == kNoVtable) {
        shape_.last = (size - extent_) / kOffsetSize;
        shapes[i] = shape_;
        vtables.positions[i] = vtable;
        return;
      }
    }
  }

 private:
  Shape shape_{};
  uint32_t extent_ = kOffsetSize;  ///< bytes from the table to behind the last of its fields
  uint32_t num_vectors_ = 0;
  bool has_eight_bytes_ = false;
  bool fits_ = true;
};

class TableVerifier final {
 public:
  TableVerifier(const TableSchema& schema, const uint8_t* data, uint32_t size)
      : schema_(schema), data_(data), size_(size), tables_left_(uint64_t{size} * kTablesPerByte) {
    if constexpr (kRemembers) {
      for (Vtables& vtables : vtables_) {
        for (uint64_t& position : vtables.positions) {
          position = kNoVtable;
        }
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

  /// Where the reference at `position` leads to; behind the buffer if it leads nowhere: if it is 0 or too large.
  uint64_t target_of(uint64_t position) const { return position + 1 + (word(position) - 1); }

  /// Whether four bytes that are aligned may be read there.
  bool is_word(uint64_t position) const { return quarter(position) <= (size_ - kOffsetSize) / kOffsetSize; }

  /// A huge number if the position is not aligned: the lower bits come to the top.
  static uint64_t quarter(uint64_t position) { return position >> 2 | position << 62; }

  uint32_t word(uint64_t position) const { return ReadScalar<uint32_t>(data_ + position); }

  /// Whether the reference at `position` leads to a string.
  bool is_string(uint64_t position) const {
    const uint64_t string = target_of(position);
    return is_word(string) && word(string) + string < size_ - kOffsetSize &&
           data_[string + kOffsetSize + word(string)] == '\0';
  }

  /// Whether the vectors of a table of that shape are right.
  ET_INLINE bool vectors_are_right(uint64_t position, const Shape& shape) const {
    for (const Shape::Vector* field = shape.vectors; field->element_size != 0; ++field) {
      const uint64_t vector = target_of(position + field->offset);
      if (!is_word(vector) || uint64_t{word(vector)} * field->element_size + vector > size_ - kOffsetSize) {
        return false;
      }
    }
    return true;
  }

  /// Whether a table is right, with those below it: it is, if they have these shapes.
  ET_INLINE bool is_like(const Chain& chain, uint64_t position) const {
    if (chain.count == 0) {
      return false;
    }
    for (const Chain::Link* link = chain.links;; ++link) {
      const Shape& shape = *link->shape;
      if (quarter(position) > shape.last || static_cast<uint32_t>(position) - word(position) != link->vtable ||
          !vectors_are_right(position, shape)) {
        return false;
      }
      if (link == &chain.links[chain.count - 1]) {
        return true;
      }
      if (shape.kind == kUnionField && data_[position + shape.parameter] != link->type) {
        return false;
      }
      position = target_of(position + shape.offset);
    }
  }

  /// The same for the shapes of all tables before it: most elements of a vector are like the first ones. Adds the
  /// number of tables to `*tables`, and makes the chain that of this table.
  bool is_like_others(uint64_t position, uint32_t table, uint32_t* tables, Chain* chain) const {
    chain->count = 0;
    for (Chain::Link* link = chain->links; link != chain->links + Chain::kMaxTables; ++link) {
      if (!is_word(position)) {
        return false;
      }
      link->vtable = static_cast<uint32_t>(position) - word(position);
      const uint64_t* known = vtables_[table].positions;
      link->shape = &shapes_[table * kMaxShapes];
      for (uint32_t i = 1; i < kMaxShapes && *known != link->vtable; ++i) {
        ++known;
        ++link->shape;
      }
      const Shape& shape = *link->shape;
      if (*known != link->vtable || quarter(position) > shape.last || !vectors_are_right(position, shape)) {
        return false;
      }
      ++*tables;
      if (shape.offset == 0) {
        chain->count = *tables;
        return true;
      }
      table = shape.table;
      if (shape.kind == kUnionField) {
        link->type = data_[position + shape.parameter];
        if (link->type - 1 >= shape.num_types) {
          return false;  // not read, or damaged
        }
        table = schema_.union_tables[table + link->type - 1];
      } else if (shape.kind == kNoField) {
        return position % 8 == shape.parameter;
      } else if (shape.kind == kStringField) {
        return is_string(position + shape.offset) && (shape.parameter == 0 || is_string(position + shape.parameter));
      }
      position = target_of(position + shape.offset);
    }
    return false;
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
      shape.remember(position, vtable, size_, vtables_[table], &shapes_[table * kMaxShapes]);
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
    [[maybe_unused]] Chain chain;  // of the element before
    // verify_vector() has made sure that this does not wrap.
    const uint32_t end = vector + kOffsetSize + count * kOffsetSize;
    for (uint32_t position = vector + kOffsetSize; position != end; position += kOffsetSize) {
      const uint32_t offset = read<uint32_t>(position);
      if constexpr (kRemembers) {
        const uint64_t element = uint64_t{position} + offset;
        uint32_t tables = chain.count;
        if (levels >= Chain::kMaxTables &&
            (is_like(chain, element) || is_like_others(element, table, &(tables = 0), &chain)) &&
            tables <= tables_left_) {
          tables_left_ -= tables;
          continue;
        }
      }
      if (offset > kSizeLimit || !verify_table(position + offset, table, levels)) {
        return false;
      }
    }
    return true;
  }

  const TableSchema& schema_;
  const uint8_t* const data_;
  const uint32_t size_;
  uint64_t tables_left_;

  Vtables vtables_[kRemembers ? kMaxTables : 1];
  Shape shapes_[kRemembers ? kMaxTables * kMaxShapes : 1];  ///< in the order of vtables_, each set when its vtable is
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
