// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch
import Foundation

/// The source of a program, and how it is loaded. `Sendable`, because nothing changes its bytes.
struct ModuleSource: @unchecked Sendable {
  enum Program {
    case file(String)
    case bundledFile(String)
    case bytes(DataBytes)
  }

  let program: Program
  let dataFilePaths: [String]
  let loadMode: ModuleLoadMode
  var threadCount = 0

  /// Loads the program.
  /// - Returns: an `et_module`, which the caller frees.
  func load(options backendOptions: BackendOptionsMap?, verification: ModuleVerification) throws -> OpaquePointer {
    var made: OpaquePointer?
    if threadCount != 0 { try Runtime.setThreadCount(threadCount) }
    let options = try options(backendOptions, verification)
    defer { et_options_free(options) }
    switch program {
    case .file(let path):
      try check { et_module_load_file(path, options, &made, $0) }
    case .bundledFile(let path):
      try check { et_module_load_bundled_file(path, options, &made, $0) }
    case .bytes(let data):
      let owner = Unmanaged.passRetained(data)  // the release function releases it, also on failure
      try check {
        et_module_load_buffer(
          data.base, data.count, { _, context in Unmanaged<DataBytes>.fromOpaque(context!).release() },
          owner.toOpaque(), options, &made, $0)
      }
    }
    return made!
  }

  private func options(
    _ backendOptions: BackendOptionsMap?, _ verification: ModuleVerification
  ) throws -> OpaquePointer {
    var made: OpaquePointer?
    try check { et_options_create(&made, $0) }
    let options = made!
    do {
      try check { et_options_set_load_mode(options, et_load_mode(loadMode.rawValue), $0) }
      try check { et_options_set_verify(options, verification == .internalConsistency, $0) }
      if et_has_etdump() {
        try check { et_options_set_etdump(options, true, $0) }
      }
      for path in dataFilePaths {
        try check { et_options_add_data_file(options, path, $0) }
      }
      for (backend, list) in backendOptions?.options ?? [:] {
        for option in list {
          try check {
            switch option.payload {
            case .boolean(let value): return et_options_set_backend_bool(options, backend, option.key, value, $0)
            case .integer(let value): return et_options_set_backend_int(options, backend, option.key, Int32(value), $0)
            case .string(let value): return et_options_set_backend_string(options, backend, option.key, value, $0)
            }
          }
        }
      }
    } catch {
      et_options_free(options)
      throw error
    }
    return options
  }
}
