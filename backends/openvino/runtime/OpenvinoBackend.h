// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The names of the OpenVINO backend and of its options. Linking the library `openvino_backend` registers it. OpenVINO
 * itself is loaded when the first program needs it: see OPENVINO_LIB_PATH.
 *
 * Each option can be set for the backend or for one load. Options of a load take precedence, and apply to that method
 * only.
 */
#pragma once

namespace executorch {
namespace backends {
namespace openvino {

/// The backend's name in programs.
const char openvino_backend_key[] = "OpenvinoBackend";

/// The environment variable with the path of `libopenvino_c`, or of the folder that holds it. Without it the linker's
/// paths are searched, then the Python package `openvino` beside the library that has this backend.
const char openvino_library_variable[] = "OPENVINO_LIB_PATH";

/// Text: the device, such as `CPU`, `GPU`, `GPU.1` or `NPU`; "" (the default): the one for which the program was
/// exported. A program is compiled for one device: another one needs a program with the IR.
const char device_option_key[] = "device";

/// Text: `LATENCY`, `THROUGHPUT` or `CUMULATIVE_THROUGHPUT`; "" (the default): OpenVINO decides.
const char performance_hint_option_key[] = "performance_hint";

/// Text: `f32`, `f16` or `bf16`: the precision in which floats are computed; "" (the default): the export's
/// precision; if it has none, `f32` on CPUs, and OpenVINO's choice on other devices.
const char inference_precision_option_key[] = "inference_precision";

/// int: threads of a CPU; 0 (the default): OpenVINO decides.
const char num_threads_option_key[] = "num_threads";

/// Text: the folder in which OpenVINO keeps what it compiles from the IR of a program; "" (the default): nothing is
/// kept. Programs that can write to it can change models' results: it belongs in a folder of the application.
const char cache_dir_option_key[] = "cache_dir";

}  // namespace openvino
}  // namespace backends
}  // namespace executorch
