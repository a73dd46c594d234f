// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch
import Foundation

/// For libraries that are built with the CMake option `EXECUTORCH_BUILD_DEVTOOLS`; others refuse bundled programs with
/// `notSupported`.
extension Module {
  /// The number of a bundled program's test cases for a method; 0 for other programs.
  public func bundledCaseCount(_ method: String = "forward") throws -> Int {
    try withHandle { et_module_bundled_case_count($0, method) }
  }

  /// Runs a method with the inputs of a test case of a bundled program, counted from 0.
  public func executeBundled(_ method: String = "forward", case index: Int) throws -> [Value] {
    try checkIndex(index)
    return try run(method) { module, out in
      try check { et_module_execute_bundled(module, method, index, out, $0) }
    }
  }

  /// Compares the outputs of ``executeBundled(_:case:)`` with those that the case expects. Elements of float tensors
  /// may differ by `atol` + `rtol` times the expected one; all others must be equal.
  /// - Throws: `notFound`, naming the first one that differs; `invalidState` when the last run was not of that case.
  public func verifyBundled(
    _ method: String = "forward", case index: Int, rtol: Double = 1e-5, atol: Double = 1e-8
  ) throws {
    try checkIndex(index)
    try withHandle { module in
      try check { et_module_verify_bundled(module, method, index, rtol, atol, $0) }
    }
  }

  /// The bytes of an ETDump, a file for the Inspector: the duration of each instruction in all runs since the last
  /// ETDump. A library that is also built with `EXECUTORCH_ENABLE_EVENT_TRACER` records every run and keeps the records
  /// until they are taken, so use it for measurements only.
  /// - Returns: nil if the library records nothing, or nothing ran.
  public func etdump() throws -> Data? {
    guard et_has_etdump() else { return nil }
    return try withHandle { module in
      var made: OpaquePointer?
      try check { et_module_take_etdump(module, &made, $0) }
      defer { et_bytes_free(made) }
      return et_bytes_data(made).map { Data(bytes: $0, count: et_bytes_size(made)) }
    }
  }

  private func checkIndex(_ index: Int) throws {
    guard index >= 0 else {
      throw ExecuTorchError(
        code: .invalidArgument, description: "expected the number of a test case from 0 on, found \(index)")
    }
  }
}
