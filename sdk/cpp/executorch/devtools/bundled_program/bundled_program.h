// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Bundled programs (`.bpte`): a program with inputs to try it on and the outputs that are expected. On the device:
 *
 *     const void* program = nullptr;
 *     size_t size = 0;
 *     Error error = get_program_data(file, file_size, &program, &size);  // verifies the file
 *     ...                                                                // load the program and its method
 *     error = load_bundled_input(method, file, 0);
 *     error = method.execute();
 *     error = verify_method_outputs(method, file, 0);
 *
 * The functions that take a bundle without its size trust it: it must have passed get_program_data(), and it must
 * outlive the method, which uses inputs in place where their memory was not planned. Every error is logged with the
 * method, the case, the value, what was expected and what was found.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/executor/method.h>

#ifdef USE_ATEN_LIB
#define BUNDLED_PROGRAM_NAMESPACE bundled_program::aten
#else
#define BUNDLED_PROGRAM_NAMESPACE bundled_program
#endif

namespace executorch {
namespace BUNDLED_PROGRAM_NAMESPACE {

/// The bytes of a bundled program, aligned to 16 bytes.
using SerializedBundledProgram = const void;

using ::executorch::ET_RUNTIME_NAMESPACE::Method;

/**
 * Sets the inputs of `method` to those of its case `testset_idx`, counted from 0.
 * Errors: InvalidArgument when there is no such case for the method or the case has another number of inputs;
 * InvalidExternalData when a tensor in the file is damaged; the errors of Method::set_input().
 */
ET_NODISCARD ::executorch::runtime::Error load_bundled_input(Method& method,
                                                             SerializedBundledProgram* bundled_program_ptr,
                                                             size_t testset_idx);

/// How far the outputs are from the expected ones, over all elements of all tensors.
struct ErrorStats {
  /// Ok when the rest is meaningful, otherwise what compute_method_output_error_stats() failed with.
  ::executorch::runtime::Error status;
  double mean_abs_error;  ///< Mean of |found - expected|.
  double max_abs_error;
  double mean_relative_error;  ///< Mean of |found - expected| / max(|expected|, 1e-12).
  double max_relative_error;
};

/**
 * Compares the outputs of the last execution with those that case `testset_idx` expects. The difference of equal
 * elements, and of two NaN, is 0. `status` has the errors of verify_method_outputs(), but values that differ are not an
 * error.
 */
ErrorStats compute_method_output_error_stats(Method& method, SerializedBundledProgram* bundled_program_ptr,
                                             size_t testset_idx);

/**
 * Checks the outputs of the last execution against those that case `testset_idx` expects: doubles and elements of
 * floating-point tensors must satisfy |found - expected| <= atol + rtol * |expected|, where NaN equals NaN; all others
 * must be equal. Errors: NotFound when an output differs in type, sizes or value; InvalidArgument when there is no such
 * case or it has another number of outputs; NotSupported when it expects none; InvalidState for an output without data.
 */
ET_NODISCARD ::executorch::runtime::Error verify_method_outputs(Method& method,
                                                                SerializedBundledProgram* bundled_program_ptr,
                                                                size_t testset_idx, double rtol = 1e-5,
                                                                double atol = 1e-8);

/**
 * Finds the bytes of a program, for a data loader, in a file that is a bundled program or a plain program. Verifies a
 * bundled program; the program inside is verified when it is loaded.
 * Errors: NotSupported when the file is neither; InvalidExternalData when it is damaged.
 */
ET_NODISCARD ::executorch::runtime::Error get_program_data(void* file_data, size_t file_data_len,
                                                           const void** out_program_data, size_t* out_program_data_len);

/// Whether the file is a bundled program, judged by its first 8 bytes.
bool is_bundled_program(void* file_data, size_t file_data_len);

/// The same for a file of at least 8 bytes.
ET_DEPRECATED inline bool is_bundled_program(void* file_data) {
  return is_bundled_program(file_data, 8);
}

}  // namespace BUNDLED_PROGRAM_NAMESPACE
}  // namespace executorch

// Older names.
namespace torch {
namespace executor {
namespace bundled_program {

using serialized_bundled_program = ::executorch::BUNDLED_PROGRAM_NAMESPACE::SerializedBundledProgram;

/// load_bundled_input()
ET_NODISCARD inline ::executorch::runtime::Error LoadBundledInput(
    ::executorch::BUNDLED_PROGRAM_NAMESPACE::Method& method, serialized_bundled_program* bundled_program_ptr,
    size_t testset_idx) {
  return ::executorch::BUNDLED_PROGRAM_NAMESPACE::load_bundled_input(method, bundled_program_ptr, testset_idx);
}

/// verify_method_outputs()
ET_NODISCARD inline ::executorch::runtime::Error VerifyResultWithBundledExpectedOutput(
    ::executorch::BUNDLED_PROGRAM_NAMESPACE::Method& method, serialized_bundled_program* bundled_program_ptr,
    size_t testset_idx, double rtol = 1e-5, double atol = 1e-8) {
  return ::executorch::BUNDLED_PROGRAM_NAMESPACE::verify_method_outputs(method, bundled_program_ptr, testset_idx, rtol,
                                                                        atol);
}

/// get_program_data()
ET_NODISCARD inline ::executorch::runtime::Error GetProgramData(void* file_data, size_t file_data_len,
                                                                const void** out_program_data,
                                                                size_t* out_program_data_len) {
  return ::executorch::BUNDLED_PROGRAM_NAMESPACE::get_program_data(file_data, file_data_len, out_program_data,
                                                                   out_program_data_len);
}

/// is_bundled_program() of a file of at least 8 bytes.
inline bool IsBundledProgram(void* file_data) {
  return ::executorch::BUNDLED_PROGRAM_NAMESPACE::is_bundled_program(file_data, 8);
}

}  // namespace bundled_program
}  // namespace executor
}  // namespace torch
