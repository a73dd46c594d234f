// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ostream>

#include <executorch/runtime/core/evalue.h>

namespace executorch {
namespace runtime {

/// Prints a value on one line where it fits. Long lists show their first and last items, see `evalue_edge_items`; more
/// than ten items are wrapped.
///
///     3
///     2.
///     True
///     "text"
///     None
///     (len=3)[1, 2, 3]
///     tensor(sizes=[2, 2], [1., 2., 3., 4.])
std::ostream& operator<<(std::ostream& os, const EValue& value);

}  // namespace runtime

namespace extension {

/// Stream manipulator: of lists with more than twice `edge_items` entries, the first and last `edge_items` are shown.
/// The default is 3; 0 or less restores it. It stays set for the stream.
///
///     std::cout << evalue_edge_items(10) << value;
class evalue_edge_items final {
  friend std::ostream& operator<<(std::ostream& os, const evalue_edge_items& manipulator);

 public:
  explicit evalue_edge_items(long edge_items) : edge_items_(edge_items < 0 ? 0 : edge_items) {}

 private:
  const long edge_items_;
};

std::ostream& operator<<(std::ostream& os, const evalue_edge_items& manipulator);

}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::evalue_edge_items;
}  // namespace util
}  // namespace executor
}  // namespace torch
