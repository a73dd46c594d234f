// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The names of the XNNPACK backend and of its options. Linking the library `xnnpack_backend` registers it.
 */
#pragma once

namespace executorch {
namespace backends {
namespace xnnpack {

/// The name that programs call the backend by.
const char xnnpack_backend_key[] = "XnnpackBackend";

/// int, a WorkspaceSharingMode: which delegates use the same memory for what lies between their operators. Of the
/// backend, or of one load.
const char workspace_sharing_mode_option_key[] = "workspace_sharing_mode";

/// bool, true by default: whether delegates that have the same float32 weights share their packed form. Of the backend,
/// or of one load.
const char weight_cache_option_key[] = "weight_cache_enabled";

/// Text: the file that holds packed weights between two starts, which is mapped and takes the place of packing. "", the
/// default, is none. Of the backend, or of one load. What cannot be used (damaged, another processor's, unreadable) is
/// packed again and said in the log, never an error. Whoever may write the file can give models other weights: it
/// belongs into a folder of the application.
const char packed_cache_path_option_key[] = "packed_cache_path";

/// bool, false by default: whether that file is made when it is missing and weights that it does not have are added.
const char save_weight_cache_on_disk_option_key[] = "save_weight_cache_on_disk";

/// Delegates with one workspace take turns; each workspace is as large as the largest of its delegates wants it.
enum class WorkspaceSharingMode {
  Disabled = 0,  ///< each delegate has its own
  PerModel = 1,  ///< the delegates of a loaded method have one
  Global = 2,    ///< all delegates of the process have one
  Count = 3,
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
