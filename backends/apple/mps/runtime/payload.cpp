// SPDX-License-Identifier: BSD-3-Clause
#include "check_ids.h"

#include <cstring>
#include <limits>
#include <unordered_set>

#include <executorch/runtime/platform/log.h>
#include <flatbuffers/flatbuffers.h>

namespace executorch {
namespace backends {
namespace mps {

using ::flatbuffers::Table;
using ::flatbuffers::Vector;
using ::flatbuffers::Verifier;
using runtime::Error;
using runtime::Result;

namespace {

constexpr char kIdentifier[] = "MP00";
constexpr size_t kHeaderSize = 24;
/// Values have fewer elements than this.
constexpr int64_t kMostElements = int64_t{1} << 31;
/// MPSGraph has tensors of this rank at most.
constexpr size_t kMostDimensions = 16;

/// The offset of a field in a table's vtable, by its number.
constexpr uint16_t slot(size_t field) {
  return static_cast<uint16_t>(4 + 2 * field);
}

namespace graph_field {
constexpr uint16_t kNodes = slot(1), kValues = slot(2), kInputs = slot(3), kOutputs = slot(4), kConstants = slot(5),
                   kKind = slot(6);
}
namespace node_field {
constexpr uint16_t kType = slot(0), kTable = slot(1), kMinMax = slot(2);
}
namespace value_field {
constexpr uint16_t kType = slot(0), kRank = slot(1), kSizes = slot(2), kDataSize = slot(3), kInline = slot(4),
                   kOffset = slot(5);
}

bool is_known(int64_t type) {
  switch (static_cast<DataType>(type)) {
    case DataType::Float16:
    case DataType::Float32:
    case DataType::Int4:
    case DataType::Int8:
    case DataType::Int16:
    case DataType::Int32:
    case DataType::Int64:
    case DataType::UInt8:
    case DataType::Bool:
      return type >= 0 && type <= static_cast<int64_t>(DataType::Bool);
  }
  return false;
}

uint64_t read_u64(const uint8_t* bytes) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i) {
    value = value << 8 | bytes[i];
  }
  return value;
}

/// The flatbuffer of a payload. What the functions return was verified.
class GraphReader {
 public:
  /// `copy` is aligned. `constants` are the bytes behind the graph in the payload, which starts at `payload`.
  GraphReader(const uint8_t* copy, size_t size, const uint8_t* original, const uint8_t* constants,
              size_t constants_size)
      : data_(copy),
        size_(size),
        original_(original),
        constants_(constants),
        constants_size_(constants_size),
        verifier_(copy, size, 8, 1 << 22),
        // A damaged graph may refer to one list many times, up to this limit. Exporters write fewer numbers than bytes.
        numbers_left_(size) {}

  Error read(Graph& graph);

 private:
  const Table* table_at(const Table* parent, uint16_t field);
  template <typename T>
  bool scalar(const Table* table, uint16_t field, T& value, T missing = T{}) {
    value = missing;
    if (!table->VerifyField<T>(verifier_, field, sizeof(T))) {
      return false;
    }
    value = table->GetField<T>(field, missing);
    return true;
  }
  template <typename T>
  bool list(const Table* table, uint16_t field, std::vector<T>& numbers);
  template <typename Function>
  bool tables(const Table* table, uint16_t field, Function&& function);
  Error read_value(const Table* table, Value& value);
  bool read_inline(const Table* table, uint64_t offset, Value& value);
  Error read_node(const Table* table, Node& node);
  bool read_field(char letter, const Table* table, uint16_t field, Node& node);

  const uint8_t* data_;
  size_t size_;
  const uint8_t* original_;
  const uint8_t* constants_;
  size_t constants_size_;
  Verifier verifier_;
  size_t numbers_left_;
};

const Table* GraphReader::table_at(const Table* parent, uint16_t field) {
  if (!parent->VerifyOffset(verifier_, field)) {
    return nullptr;
  }
  const auto* const table = parent->GetPointer<const Table*>(field);
  return table != nullptr && table->VerifyTableStart(verifier_) ? table : nullptr;
}

template <typename T>
bool GraphReader::list(const Table* table, uint16_t field, std::vector<T>& numbers) {
  if (!table->VerifyOffset(verifier_, field)) {
    return false;
  }
  const auto* const found = table->GetPointer<const Vector<int32_t>*>(field);
  if (found == nullptr) {
    return true;
  }
  if (!verifier_.VerifyVector(found) || found->size() > numbers_left_) {
    return false;
  }
  numbers_left_ -= found->size();
  for (uint32_t i = 0; i < found->size(); ++i) {
    numbers.push_back(static_cast<T>(found->Get(i)));
  }
  return true;
}

template <typename Function>
bool GraphReader::tables(const Table* table, uint16_t field, Function&& function) {
  if (!table->VerifyOffset(verifier_, field)) {
    return false;
  }
  const auto* const found = table->GetPointer<const Vector<::flatbuffers::Offset<Table>>*>(field);
  if (found == nullptr) {
    return true;
  }
  if (!verifier_.VerifyVector(found)) {
    return false;
  }
  for (uint32_t i = 0; i < found->size(); ++i) {
    // An element is the distance to its table.
    const auto place = static_cast<size_t>(found->Data() + i * sizeof(uint32_t) - data_);
    const size_t offset = verifier_.VerifyOffset(place);
    const auto* const each = reinterpret_cast<const Table*>(data_ + place + offset);
    if (offset == 0 || !each->VerifyTableStart(verifier_) || !function(each)) {
      return false;
    }
    verifier_.EndTable();
  }
  return true;
}

bool GraphReader::read_inline(const Table* table, uint64_t offset, Value& value) {
  const auto* const buffer = table->CheckField(value_field::kInline) ? table_at(table, value_field::kInline) : nullptr;
  if (buffer == nullptr) {
    return !table->CheckField(value_field::kInline);
  }
  const bool is_offset = buffer->VerifyOffset(verifier_, slot(0));
  const auto* const bytes = is_offset ? buffer->GetPointer<const Vector<uint8_t>*>(slot(0)) : nullptr;
  verifier_.EndTable();
  if (bytes == nullptr || !verifier_.VerifyVector(bytes)) {
    return is_offset && bytes == nullptr;
  }
  if (bytes->size() == 0) {
    return true;
  }
  if (offset > bytes->size() || value.data_size > bytes->size() - offset) {
    return false;
  }
  value.data = original_ + (bytes->Data() - data_) + offset;  // the copy does not live as long
  return true;
}

Error GraphReader::read_value(const Table* table, Value& value) {
  int16_t type = 0;
  int32_t rank = 0;
  uint64_t data_size = 0, offset = 0;
  if (!scalar(table, value_field::kType, type) || !scalar(table, value_field::kRank, rank) ||
      !list(table, value_field::kSizes, value.sizes) || !scalar(table, value_field::kDataSize, data_size) ||
      !scalar(table, value_field::kOffset, offset)) {
    return damaged("a value lies outside of it");
  }
  if (rank < 0 || static_cast<size_t>(rank) != value.sizes.size() || value.sizes.size() > kMostDimensions) {
    return damaged("a value has another number of sizes than it says, or more than 16");
  }
  ET_CHECK_OR_RETURN_ERROR(is_known(type), NotSupported, "MPS: a value has the dtype %d, which MPS does not have",
                           type);
  value.type = static_cast<DataType>(type);
  int64_t count = 1;
  for (const int64_t size : value.sizes) {
    // A product of two such numbers does not overflow.
    if (size < 0 || (count *= size) >= kMostElements) {
      return damaged("a value has a negative size, or 2^31 elements or more");
    }
  }
  value.data_size = data_size;
  if (!read_inline(table, offset, value)) {
    return damaged("the bytes of a constant lie outside of it");
  }
  if (value.data == nullptr && data_size > 0) {
    if (offset > constants_size_ || data_size > constants_size_ - offset) {
      return damaged("the bytes of a constant lie outside of it");
    }
    value.data = constants_ + offset;
  }
  if (value.sizes.empty()) {
    value.sizes.push_back(1);
  }
  return Error::Ok;
}

bool GraphReader::read_field(char letter, const Table* table, uint16_t field, Node& node) {
  int32_t id = 0;
  int64_t wide = 0;
  int16_t type = 0;
  uint8_t flag = 0;
  float number = 0;
  switch (letter) {
    case 'o':
    case 'O':
      return scalar(table, field, id) && (node.operands.push_back(id), true);
    case 'r':
      return scalar(table, field, id) && (node.results.push_back(id), true);
    case 'u':
    case 'q':
      return scalar(table, field, id);
    case 'L':
    case 'P':
      return list(table, field, node.operands);
    case 'R':
      return list(table, field, node.results);
    case 'i':
      return scalar(table, field, id) && (node.integers.push_back(id), true);
    case 'l':
      return scalar(table, field, wide) && (node.integers.push_back(wide), true);
    case 'b':
      return scalar(table, field, flag) && (node.integers.push_back(flag != 0), true);
    case 'd':
      return scalar(table, field, type) && (node.integers.push_back(type), true);
    case 'f':
      return scalar(table, field, number) && (node.floats.push_back(number), true);
    case 'v':
      node.lists.emplace_back();
      return list(table, field, node.lists.back());
    case 's': {
      if (!table->VerifyOffset(verifier_, field)) {
        return false;
      }
      const auto* const text = table->GetPointer<const ::flatbuffers::String*>(field);
      if (text == nullptr) {
        return true;
      }
      if (!verifier_.VerifyString(text) || text->size() > numbers_left_) {
        return false;
      }
      numbers_left_ -= text->size();
      node.text = text->str();
      return true;
    }
    default:
      return false;
  }
}

Error GraphReader::read_node(const Table* table, Node& node) {
  uint8_t type = 0;
  if (!scalar(table, node_field::kType, type)) {
    return damaged("a node lies outside of it");
  }
  ET_CHECK_OR_RETURN_ERROR(type > 0 && type < static_cast<uint8_t>(NodeType::Count), NotSupported,
                           "MPS: a node has the type %d; this runtime knows 1 to %d", type,
                           static_cast<int>(NodeType::Count) - 1);
  node.type = static_cast<NodeType>(type);
  const Table* const fields = table_at(table, node_field::kTable);
  if (fields == nullptr) {
    return damaged("a node lies outside of it");
  }
  const char* const form = form_of(node.type);
  for (size_t i = 0; form[i] != '\0'; ++i) {
    if (!read_field(form[i], fields, slot(i), node)) {
      ET_LOG(Error, "MPS: field %zu of a node (%s) cannot be read", i, name_of(node.type));
      return damaged("a field of a node lies outside of it");
    }
    if (form[i] == 'd' && !is_known(node.integers.back())) {
      ET_LOG(Error, "MPS: a node (%s) has the dtype %d, which MPS does not have", name_of(node.type),
             static_cast<int>(node.integers.back()));
      return Error::NotSupported;
    }
  }
  verifier_.EndTable();
  node.low = -std::numeric_limits<float>::infinity();
  node.high = std::numeric_limits<float>::infinity();
  if (table->CheckField(node_field::kMinMax)) {
    const Table* const bounds = table_at(table, node_field::kMinMax);
    if (bounds == nullptr || !scalar(bounds, slot(0), node.low) || !scalar(bounds, slot(1), node.high)) {
      return damaged("the bounds of a node lie outside of it");
    }
    verifier_.EndTable();
  }
  return Error::Ok;
}

Error GraphReader::read(Graph& graph) {
  const uint32_t root = size_ < 8 ? 0 : ::flatbuffers::ReadScalar<uint32_t>(data_);
  if (root == 0 || root >= size_ || root % 4 != 0 || std::memcmp(data_ + 4, kIdentifier, 4) != 0) {
    return damaged("its graph is not a flatbuffer with the identifier MP00");
  }
  const auto* const table = reinterpret_cast<const Table*>(data_ + root);
  if (!table->VerifyTableStart(verifier_)) {
    return damaged("its graph lies outside of it");
  }
  Error error = Error::Ok;
  const auto each = [&error](auto& all, auto read_one) {
    return [&error, &all, read_one](const Table* one) {
      all.emplace_back();
      error = read_one(one, all.back());
      return error == Error::Ok;
    };
  };
  const auto value = each(graph.values, [&](const Table* t, Value& v) { return read_value(t, v); });
  const auto node = each(graph.nodes, [&](const Table* t, Node& n) { return read_node(t, n); });
  int16_t kind = 0;
  if (!tables(table, graph_field::kValues, value) || !tables(table, graph_field::kNodes, node)) {
    return error != Error::Ok ? error : damaged("its values and nodes lie outside of it");
  }
  if (!list(table, graph_field::kInputs, graph.inputs) || !list(table, graph_field::kOutputs, graph.outputs) ||
      !list(table, graph_field::kConstants, graph.constants) || !scalar(table, graph_field::kKind, kind)) {
    return damaged("its inputs and outputs lie outside of it");
  }
  return Error::Ok;
}

}  // namespace

Result<Graph> read_payload(const void* payload, size_t size) {
  const auto* const bytes = static_cast<const uint8_t*>(payload);
  if (size < kHeaderSize || std::memcmp(bytes + 4, kIdentifier, 4) != 0) {
    ET_LOG(Error, "MPS: expected a payload with MP00 at byte 4 and %zu bytes at least, found one of %zu bytes",
           kHeaderSize, size);
    return Error::InvalidProgram;
  }
  const uint64_t offset = read_u64(bytes + 8), constants_size = read_u64(bytes + 16);
  if (offset < kHeaderSize || offset > size || constants_size > size - offset) {
    return damaged("its constants lie outside of it");
  }
  const size_t graph_size = static_cast<size_t>(offset) - kHeaderSize;
  if (graph_size >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return damaged("its graph has 2 GiB or more");
  }
  std::vector<uint64_t> copy((graph_size + 7) / 8 + 1);  // aligned for every field
  std::memcpy(copy.data(), bytes + kHeaderSize, graph_size);
  Graph graph;
  GraphReader reader(reinterpret_cast<const uint8_t*>(copy.data()), graph_size, bytes + kHeaderSize, bytes + offset,
                     static_cast<size_t>(constants_size));
  ET_CHECK_OK_OR_RETURN_ERROR(reader.read(graph));
  ET_CHECK_OK_OR_RETURN_ERROR(check_ids(graph));
  return graph;
}

}  // namespace mps
}  // namespace backends
}  // namespace executorch
