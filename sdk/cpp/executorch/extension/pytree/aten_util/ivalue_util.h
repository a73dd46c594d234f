// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Conversion between nested values of PyTorch's interpreter and a list of tensors with a tree of their structure.
 * Needs PyTorch's headers and library: link extension_pytree_aten_util (CMake option
 * EXECUTORCH_BUILD_EXTENSION_ATEN_UTIL).
 */
#pragma once

#include <ATen/Tensor.h>
#include <ATen/core/ivalue.h>

#include <memory>
#include <utility>
#include <vector>

#include <executorch/extension/pytree/pytree.h>

namespace executorch {
namespace extension {

/**
 * The tensors of lists, tuples and dicts, in order, and the tree without them. Keys of dicts are strings or int32;
 * a named tuple keeps its kind, not its names.
 *
 * @throws std::invalid_argument for other values, such as a number or None; the message names the type.
 */
std::pair<std::vector<at::Tensor>, std::unique_ptr<pytree::TreeSpec<pytree::Empty>>> flatten(const c10::IValue& data);

/**
 * The value that flatten() was called with. A list or dict with only tensors has the item type Tensor, any other one
 * the type Any.
 *
 * @throws std::invalid_argument the tree has another number of leaves than there are tensors, or a node that is not
 * a value.
 */
c10::IValue unflatten(const std::vector<at::Tensor>& tensors,
                      const std::unique_ptr<pytree::TreeSpec<pytree::Empty>>& tree_spec);

/// Whether both have the same tensors: dtypes, sizes and elements (NaN differs from NaN).
bool is_same(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b);

/// Whether both are nested in the same way and have the same tensors. Throws as flatten() does.
bool is_same(const c10::IValue& lhs, const c10::IValue& rhs);

}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::flatten;
using ::executorch::extension::is_same;
using ::executorch::extension::unflatten;
}  // namespace util
}  // namespace executor
}  // namespace torch
