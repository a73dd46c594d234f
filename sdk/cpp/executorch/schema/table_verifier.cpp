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

class TableVerifier final {
 public:
  TableVerifier(const TableSchema& schema, const uint8_t* data, uint32_t size, uint32_t max_depth)
      : schema_(schema),
        data_(data),
        size_(size),
        tables_left_(uint64_t{size} * kTablesPerByte),
        levels_left_(max_depth) {}

  bool verify_root() { return verify_reference(0, {kTableField, static_cast<uint8_t>(schema_.root)}, 0); }

 private:
  /// Whether `length` bytes at `position` are in the buffer.
  bool is_inside(uint32_t position, uint32_t length) const { return length < size_ && position <= size_ - length; }

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
    if (!is_scalar(vtable, sizeof(uint16_t))) {
      return false;
    }
    const uint32_t vtable_size = read<uint16_t>(vtable);
    if (vtable_size % 2 != 0 || !is_inside(vtable, vtable_size)) {
      return false;
    }
    --levels_left_;
    --tables_left_;
    // Its first two entries are sizes. Older programs have fewer fields than the schema, newer ones more.
    uint32_t entry = vtable + 2 * sizeof(uint16_t);
    const uint32_t end = vtable + vtable_size;
    const TableField* field = schema_.fields + schema_.first_fields[table];
    const TableField* const last = schema_.fields + schema_.first_fields[table + 1];
    for (uint32_t type = 0; field < last && entry < end; ++field, entry += sizeof(uint16_t)) {
      const uint32_t offset = read<uint16_t>(entry);
      const uint32_t kind = field->kind;
      if (offset == 0 || kind == kNoField) {
        type = 0;
      } else if (kind <= kLargestScalar) {
        if (!is_scalar(position + offset, kind)) {
          return false;
        }
        type = kind == 1 ? data_[position + offset] : 0;
      } else if (!verify_reference(position + offset, *field, type)) {
        return false;
      }
    }
    ++levels_left_;
    return true;
  }

  /// An offset, and what it leads to.
  bool verify_reference(uint32_t position, TableField field, uint32_t union_type) {
    if (!is_scalar(position, kOffsetSize)) {
      return false;
    }
    const uint32_t offset = read<uint32_t>(position);
    if (offset == 0 || offset > kSizeLimit || !is_inside(position + offset, 1)) {
      return false;
    }
    position += offset;
    uint32_t count = 0;
    switch (field.kind) {
      case kTableField:
        return verify_table(position, field.target);
      case kUnionField: {
        const uint32_t first = schema_.first_union_tables[field.target];
        // A type that is not known is not read.
        const bool known = union_type > 0 && union_type <= schema_.first_union_tables[field.target + 1] - first;
        return !known || verify_table(position, schema_.union_tables[first + union_type - 1]);
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
      if (offset > kSizeLimit || !verify_table(position + offset, table)) {
        return false;
      }
    }
    return true;
  }

  const TableSchema& schema_;
  const uint8_t* const data_;
  const uint32_t size_;
  uint64_t tables_left_;
  uint32_t levels_left_;
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
