// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/schema/table_verifier.h>

#include <cstring>

#include <flatbuffers/base.h>

#include <executorch/runtime/platform/compiler.h>
#include <executorch/schema/table_shapes.h>

namespace executorch {
namespace runtime {
namespace internal {
namespace {

// Lists of numbers and the bytes of tensors are used in place.
static_assert(FLATBUFFERS_LITTLEENDIAN, "Programs are little-endian; this machine is not.");

using flatbuffers::ReadScalar;

// Positions, and offsets between them, are below 2^31, so the sum of two of them does not wrap.
constexpr uint32_t kSizeLimit = INT32_MAX;
constexpr uint32_t kOffsetSize = sizeof(uint32_t);

/// For shorter vectors, the cache costs more than it saves.
constexpr uint32_t kMany = 16;

class TableVerifier final {
 public:
  TableVerifier(const TableSchema& schema, const uint8_t* data, uint32_t size)
      : schema_(schema), data_(data), size_(size), tables_left_(uint64_t{size} * kTablesPerByte) {}

  bool verify_root(uint32_t max_depth) {
    return follow(0, {kTableField, static_cast<uint8_t>(schema_.root)}, 0, max_depth);
  }

 private:
  /// Whether `length` bytes at `position` are in the buffer.
  bool is_inside(uint32_t position, uint32_t length) const { return length <= size_ && position <= size_ - length; }

  /// Like the function above, for a scalar or an offset, which must be aligned to its size, a power of two.
  bool is_scalar(uint32_t position, uint32_t size) const {
    return (position & (size - 1)) == 0 && position <= size_ - size;
  }

  template <typename T>
  T read(uint32_t position) const {
    return ReadScalar<T>(data_ + position);
  }

  /// Verifies a table above at most `levels` - 1 nested tables.
  bool verify_table(uint32_t position, uint32_t table, uint32_t levels) {
    if (levels == 0 || tables_left_ == 0 || !is_scalar(position, kOffsetSize)) {
      return false;
    }
    --tables_left_;
    // The vtable may be before or after the table. If it is before the buffer, the difference wraps to a position that
    // is_scalar() refuses.
    return verify_fields(position, position - read<uint32_t>(position), table, levels - 1);
  }

  /// The target of the reference at `position`. If the reference is invalid (0 or too large), the result is beyond the
  /// buffer.
  uint64_t target_of(uint64_t position) const { return position + 1 + (word(position) - 1); }

  /// Whether four aligned bytes can be read at `position`.
  bool is_word(uint64_t position) const { return quarter(position) <= (size_ - kOffsetSize) / kOffsetSize; }

  /// `position` / 4; a huge number if the position is not aligned, because its lower bits become the highest.
  static uint64_t quarter(uint64_t position) { return position >> 2 | position << 62; }

  uint32_t word(uint64_t position) const { return ReadScalar<uint32_t>(data_ + position); }

  /// Whether the reference at `position` is to a valid string.
  bool is_string(uint64_t position) const {
    const uint64_t string = target_of(position);
    return is_word(string) && word(string) + string < size_ - kOffsetSize &&
           data_[string + kOffsetSize + word(string)] == '\0';
  }

  /// Whether the reference at `position` is to a valid vector of scalars.
  ET_INLINE bool is_vector(uint64_t position, uint32_t element_size) const {
    const uint64_t vector = target_of(position);
    return is_word(vector) && uint64_t{word(vector)} * element_size + vector <= size_ - kOffsetSize;
  }

  /// Whether the table at `position` has the pattern; it is then valid, with the tables below it.
  ET_INLINE bool has_pattern(uint64_t position, const Pattern& pattern) const {
    if (quarter(position) > pattern.last) {
      return false;
    }
    const auto base = static_cast<uint32_t>(position);
    const uint8_t* const table = data_ + position;
    uint32_t differences = (base - ReadScalar<uint32_t>(table)) ^ pattern.vtable;
    differences |= (base - ReadScalar<uint32_t>(table + pattern.second)) ^ pattern.second_vtable;
    differences |= ReadScalar<uint32_t>(table + pattern.reference) ^ pattern.reference_value;
    differences |= (table[pattern.type] & pattern.type_mask) ^ pattern.type_value;
    differences |= ReadScalar<uint32_t>(table + pattern.near) ^ pattern.near_value;
    if (differences != 0 || uint64_t{ReadScalar<uint32_t>(table + pattern.near_count)} * pattern.near_element_size +
                                    position + pattern.near_count >
                                size_ - kOffsetSize) {
      return false;
    }
    for (uint32_t i = 0; i != pattern.num_vectors; ++i) {
      if (!is_vector(position + pattern.vectors[i].offset, pattern.vectors[i].element_size)) {
        return false;
      }
    }
    if (pattern.third == 0) {
      return true;
    }
    const uint64_t third = target_of(position + pattern.third);
    return quarter(third) <= pattern.third_last && static_cast<uint32_t>(third) - word(third) == pattern.third_vtable;
  }

  /// Returns the pattern, except `latest`, of the table at `position`; null if it has none.
  ET_NOINLINE const Pattern* find_pattern(uint64_t position, const Patterns& known, const Pattern* latest) const {
    for (const Pattern* pattern = known.patterns; pattern != known.patterns + known.count; ++pattern) {
      if (pattern != latest && has_pattern(position, *pattern)) {
        return pattern;
      }
    }
    return nullptr;
  }

  /// The number of tables at `position` and below it, if all have known shapes and are valid; otherwise 0. Adds their
  /// pattern.
  ET_NOINLINE uint32_t count_like_shapes(uint64_t position, uint32_t table, Patterns* patterns) const {
    Path path;
    while (path.count != Path::kMaxTables) {
      const Shape* const shape =
          is_word(position) ? shapes_.find(table, static_cast<uint32_t>(position) - word(position)) : nullptr;
      if (shape == nullptr || quarter(position) > shape->last) {
        return 0;
      }
      for (const Shape::Vector* field = shape->vectors; field->element_size != 0; ++field) {
        if (!is_vector(position + field->offset, field->element_size)) {
          return 0;
        }
      }
      Path::Step& step = path.steps[path.count++];
      step = {shape, position, 0};
      if (shape->offset == 0) {
        patterns->add(data_, path);
        return path.count;
      }
      table = shape->table;
      if (shape->kind == kUnionField) {
        step.type = data_[position + shape->parameter];
        if (step.type - 1 >= shape->num_types) {
          return 0;  // an unknown type, or a damaged one
        }
        table = schema_.union_tables[table + step.type - 1];
      } else if (shape->kind == kNoField) {
        return position % 8 == shape->parameter ? path.count : 0;
      } else if (shape->kind == kStringField) {
        return is_string(position + shape->offset) && (shape->parameter == 0 || is_string(position + shape->parameter))
                   ? path.count
                   : 0;
      }
      position = target_of(position + shape->offset);
    }
    return 0;
  }

  /// Stores the shape of a table that has been verified.
  ET_NOINLINE void remember(uint32_t position, uint32_t vtable, uint32_t table) {
    if (!shapes_.has_room(table) || shapes_.find(table, vtable) != nullptr) {
      return;
    }
    ShapeBuilder builder;
    uint32_t entry = vtable + 2 * sizeof(uint16_t);
    const uint32_t end = vtable + read<uint16_t>(vtable);
    uint32_t type_offset = 0;
    for (uint32_t i = schema_.first_fields[table]; i < schema_.first_fields[table + 1] && entry < end; ++i) {
      const TableField field = schema_.fields[i];
      const uint32_t offset = field.kind == kNoField ? 0 : read<uint16_t>(entry);
      entry += sizeof(uint16_t);
      if (offset != 0 && field.kind <= kLargestScalar) {
        builder.add_scalar(offset, field.kind);
      } else if (offset != 0) {
        builder.add_reference(offset, type_offset, field, schema_);
      }
      type_offset = field.kind == 1 ? offset : 0;
    }
    if (const Shape* shape = builder.build(position, vtable, size_)) {
      shapes_.add(table, *shape);
    }
  }

  /// Verifies a table and its vtable.
  ET_NOINLINE bool verify_fields(uint32_t position, uint32_t vtable, uint32_t table, uint32_t levels) {
    if (!is_scalar(vtable, sizeof(uint16_t))) {
      return false;
    }
    const uint32_t vtable_size = read<uint16_t>(vtable);
    if (vtable_size % 2 != 0 || !is_inside(vtable, vtable_size)) {
      return false;
    }
    // The first two entries of a vtable are sizes. Programs of older schemas have fewer fields, those of newer ones
    // more.
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
      if (kind <= kLargestScalar) {
        type_offset = kind == 1 ? offset : 0;
        continue;
      }
      if (!follow(position + offset, *field, type_offset == 0 ? 0 : data_[position + type_offset], levels)) {
        return false;
      }
    }
    if constexpr (kRemembers) {
      if (is_remembering_) {
        remember(position, vtable, table);
      }
    }
    return true;
  }

  /// Verifies the target of the offset at `position`.
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
        // Values of an unknown type are not read.
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
    if constexpr (kRemembers) {
      if (count >= kMany && levels >= Path::kMaxTables) {
        const bool was_remembering = is_remembering_;
        is_remembering_ = true;
        const bool is_right = verify_many(vector, count, table, levels);
        is_remembering_ = was_remembering;
        return is_right;
      }
    }
    for (uint32_t i = 1; i <= count; ++i) {
      // verify_vector() has checked that this does not wrap.
      if (!verify_element(vector + i * kOffsetSize, table, levels)) {
        return false;
      }
    }
    return true;
  }

  bool verify_element(uint32_t position, uint32_t table, uint32_t levels) {
    const uint32_t offset = read<uint32_t>(position);
    return offset <= kSizeLimit && verify_table(position + offset, table, levels);
  }

  /// Like the function above, for many elements, most of which have the layout of earlier ones.
  ET_NOINLINE bool verify_many(uint32_t vector, uint32_t count, uint32_t table, uint32_t levels) {
    Patterns patterns;
    const Pattern* latest = &kNoPattern;
    const uint32_t end = vector + kOffsetSize + count * kOffsetSize;
    for (uint32_t position = vector + kOffsetSize;; position += kOffsetSize) {
      const uint32_t start = position;
      while (position != end && has_pattern(uint64_t{position} + read<uint32_t>(position), *latest)) {
        position += kOffsetSize;
      }
      uint32_t tables = (position - start) / kOffsetSize * latest->num_tables;
      if (tables > tables_left_) {
        return false;
      }
      tables_left_ -= tables;
      if (position == end) {
        return true;
      }
      const uint64_t element = uint64_t{position} + read<uint32_t>(position);
      if (const Pattern* pattern = find_pattern(element, patterns, latest)) {
        latest = pattern;
        tables = pattern->num_tables;
      } else {
        tables = count_like_shapes(element, table, &patterns);
      }
      if (tables > tables_left_ || (tables == 0 && !verify_element(position, table, levels))) {
        return false;
      }
      tables_left_ -= tables;
    }
  }

  const TableSchema& schema_;
  const uint8_t* const data_;
  const uint32_t size_;
  uint64_t tables_left_;

  Shapes shapes_;
  bool is_remembering_ = false;
};

}  // namespace

bool verify_tables(const TableSchema& schema, const void* data, size_t size, const char* identifier,
                   uint32_t max_depth) {
  // The offset to the root table, and the smallest table with its vtable.
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
