// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The names of the XNNPACK backend and of its options. Linking the library `xnnpack_backend` registers it.
 */
#pragma once

namespace executorch {
namespace backends {
namespace xnnpack {

/// The backend's name in programs.
const char xnnpack_backend_key[] = "XnnpackBackend";

/// int, a WorkspaceSharingMode: which delegates use the same memory for the activations between their operators. An
/// option of the backend, or of one load.
const char workspace_sharing_mode_option_key[] = "workspace_sharing_mode";

/// bool, true by default: whether delegates that have the same weights share the packed weights. An option of the
/// backend, or of one load.
const char weight_cache_option_key[] = "weight_cache_enabled";

/// Text: the path of the file of packed weights, which the next start maps instead of packing. "", the default, is no
/// file. An option of the backend, or of one load. Entries that cannot be used (damaged, of another processor,
/// unreadable) are packed again and logged; they are not an error. A program that can write the file can change the
/// weights of models: it belongs in a folder of the application.
const char packed_cache_path_option_key[] = "packed_cache_path";

/// bool, false by default: whether the file is created if it does not exist, and missing weights are added.
const char save_weight_cache_on_disk_option_key[] = "save_weight_cache_on_disk";

/// int, 2^27 by default, INT_MAX for no limit: the additional bytes that the convolutions of a delegate may use for
/// filters that Winograd's algorithm has transformed, which are up to four times as large. Beyond the limit, a filter
/// is kept only if it has at most as many additional elements as the image and the result; others are transformed in
/// each execution. Processors other than 64-bit Arm always use that rule. An option of the backend, or of one load.
const char transformed_filter_bytes_option_key[] = "transformed_filter_bytes";

/// A workspace is as large as its largest delegate needs. Delegates that run at the same time get further workspaces.
enum class WorkspaceSharingMode {
  Disabled = 0,  ///< each delegate has its own
  PerModel = 1,  ///< the delegates of a loaded method have one
  Global = 2,    ///< all delegates of the process have one
  Count = 3,
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
