// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/evalue_util/print_evalue.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <sstream>
#include <type_traits>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

namespace executorch {

using aten::ScalarType;

namespace extension {

namespace {

constexpr size_t kItemsPerLine = 10;
constexpr long kDefaultEdgeItems = 3;

// The slot that every stream has for `evalue_edge_items`; 0 until set.
int edge_items_slot() {
  static const int slot = std::ios_base::xalloc();
  return slot;
}

size_t edge_items_of(std::ostream& os) {
  const long edge_items = os.iword(edge_items_slot());
  return static_cast<size_t>(edge_items > 0 ? edge_items : kDefaultEdgeItems);
}

// Prints a number so that it shows that it is floating point: 1 as "1.".
void print_floating(std::ostream& os, double value) {
  if (std::isnan(value)) {
    os << "nan";
  } else if (std::isinf(value)) {
    os << (value < 0 ? "-inf" : "inf");
  } else {
    std::ostringstream text;  // a copy of the stream's precision, none of its other state
    text << std::setprecision(static_cast<int>(os.precision())) << value;
    const std::string digits = text.str();
    os << digits << (digits.find_first_of(".e") == std::string::npos ? "." : "");
  }
}

template <typename T>
void print_item(std::ostream& os, T item) {
  if constexpr (std::is_same_v<T, bool>) {
    os << (item ? "True" : "False");
  } else if constexpr (std::is_integral_v<T>) {
    os << +item;  // promotes: int8_t is a number here, not a character
  } else {
    print_floating(os, static_cast<double>(item));
  }
}

// Items [begin, end), ten a line. A line that is not full comes last, or first if `ragged_first`.
template <typename Item>
void print_lines(std::ostream& os, size_t begin, size_t end, bool ragged_first, Item&& item) {
  size_t line_end = begin;
  const size_t ragged = (end - begin) % kItemsPerLine;
  if (ragged_first && ragged > 0) {
    line_end = begin + ragged;
  }
  for (size_t i = begin; i < end;) {
    line_end = std::min(end, line_end > i ? line_end : i + kItemsPerLine);
    os << "  ";
    for (; i < line_end; ++i) {
      item(i);
      os << ", ";
    }
    os << "\n";
  }
}

// "[...]" around `size` scalars; `item(i)` prints one.
template <typename Item>
void print_scalars(std::ostream& os, size_t size, Item&& item) {
  const size_t edge_items = edge_items_of(os);
  const bool elided = edge_items < (size + 1) / 2 && size > 2 * edge_items;
  const size_t head = elided ? edge_items : size;
  const size_t tail = elided ? size - edge_items : size;
  os << "[";
  if (head + (size - tail) > kItemsPerLine) {
    os << "\n";
    print_lines(os, 0, head, false, item);
    if (elided) {
      os << "  ...,\n";
      print_lines(os, tail, size, true, item);
    }
  } else {
    for (size_t i = 0; i < head; ++i) {
      os << (i > 0 ? ", " : "");
      item(i);
    }
    if (elided) {
      os << ", ...";
    }
    for (size_t i = tail; i < size; ++i) {
      os << ", ";
      item(i);
    }
  }
  os << "]";
}

template <typename List>
void print_scalar_list(std::ostream& os, const List& list, bool with_length = true) {
  if (with_length) {
    os << "(len=" << list.size() << ")";
  }
  print_scalars(os, list.size(), [&](size_t i) { print_item(os, list[i]); });
}

template <typename T>
void print_elements(std::ostream& os, const aten::Tensor& tensor) {
  const T* data = tensor.const_data_ptr<T>();
  print_scalars(os, static_cast<size_t>(tensor.numel()), [&](size_t i) { print_item(os, data[i]); });
}

void print_tensor(std::ostream& os, const aten::Tensor& tensor) {
  os << "tensor(sizes=[";
  for (ssize_t i = 0; i < tensor.dim(); ++i) {
    os << (i > 0 ? ", " : "") << tensor.size(i);
  }
  os << "], ";
  if (tensor.numel() > 0 && !tensor.device().is_cpu()) {
    os << "on device type " << static_cast<int>(tensor.device().type()) << ")";
    return;
  }
  if (tensor.const_data_ptr() == nullptr && tensor.numel() > 0) {
    os << "no data)";
    return;
  }
  switch (tensor.scalar_type()) {
    case ScalarType::Byte:
      print_elements<uint8_t>(os, tensor);
      break;
    case ScalarType::Char:
      print_elements<int8_t>(os, tensor);
      break;
    case ScalarType::Short:
      print_elements<int16_t>(os, tensor);
      break;
    case ScalarType::Int:
      print_elements<int32_t>(os, tensor);
      break;
    case ScalarType::Long:
      print_elements<int64_t>(os, tensor);
      break;
    case ScalarType::UInt16:
      print_elements<uint16_t>(os, tensor);
      break;
    case ScalarType::UInt32:
      print_elements<uint32_t>(os, tensor);
      break;
    case ScalarType::UInt64:
      print_elements<uint64_t>(os, tensor);
      break;
    case ScalarType::Half:
      print_elements<aten::Half>(os, tensor);
      break;
    case ScalarType::BFloat16:
      print_elements<aten::BFloat16>(os, tensor);
      break;
    case ScalarType::Float:
      print_elements<float>(os, tensor);
      break;
    case ScalarType::Double:
      print_elements<double>(os, tensor);
      break;
    case ScalarType::Bool:
      print_elements<bool>(os, tensor);
      break;
    default:
      os << "[<unhandled scalar type " << static_cast<int>(tensor.scalar_type()) << ">]";
  }
  os << ")";
}

void print_quoted(std::ostream& os, std::string_view text) {
  os << '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      os << '\\';
    }
    os << c;
  }
  os << '"';
}

// Prints a list of tensors, never elided: each on its own line if there are several.
template <typename List, typename Item>
void print_tensor_list(std::ostream& os, const List& list, Item&& item) {
  os << "(len=" << list.size() << ")[";
  const bool wrap = list.size() > 1;
  for (size_t i = 0; i < list.size(); ++i) {
    if (wrap) {
      os << (i == 0 ? "\n" : "") << "  [" << i << "]: ";
    }
    item(list[i]);
    os << (wrap ? ",\n" : "");
  }
  os << "]";
}

}  // namespace

std::ostream& operator<<(std::ostream& os, const evalue_edge_items& manipulator) {
  os.iword(edge_items_slot()) = manipulator.edge_items_;
  return os;
}

}  // namespace extension

namespace runtime {

std::ostream& operator<<(std::ostream& os, const EValue& value) {
  using namespace ::executorch::extension;
  switch (value.tag) {
    case Tag::None:
      os << "None";
      break;
    case Tag::Bool:
      print_item(os, value.toBool());
      break;
    case Tag::Int:
      print_item(os, value.toInt());
      break;
    case Tag::Double:
      print_item(os, value.toDouble());
      break;
    case Tag::String:
      print_quoted(os, value.toString());
      break;
    case Tag::Tensor:
      print_tensor(os, value.toTensor());
      break;
    case Tag::ListBool:
      print_scalar_list(os, value.toBoolList());
      break;
    case Tag::ListInt:
      print_scalar_list(os, value.toIntList());
      break;
    case Tag::ListDouble:
      print_scalar_list(os, value.toDoubleList());
      break;
    case Tag::ListTensor:
      print_tensor_list(os, value.toTensorList(), [&](const aten::Tensor& tensor) { print_tensor(os, tensor); });
      break;
    case Tag::ListOptionalTensor:
      print_tensor_list(os, value.toListOptionalTensor(), [&](const std::optional<aten::Tensor>& tensor) {
        if (tensor.has_value()) {
          print_tensor(os, *tensor);
        } else {
          os << "None";
        }
      });
      break;
    default:
      os << "<Unknown EValue tag " << static_cast<int>(value.tag) << ">";
  }
  return os;
}

}  // namespace runtime
}  // namespace executorch
