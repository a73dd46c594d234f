// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch
import Foundation

/// How a program's file is loaded into memory.
public enum ModuleLoadMode: Int, Sendable {
  /// Read into memory.
  case file = 0
  /// Mapped: pages are read when they are used. The file must not be made shorter meanwhile.
  case mmap = 1
  /// Mapped, and kept in memory.
  case mmapUseMlock = 2
  /// The same, if the system allows it.
  case mmapUseMlockIgnoreErrors = 3
}

/// How much of a program is checked when it is loaded.
public enum ModuleVerification: UInt8, Sendable {
  /// Only the headers. Use it for trusted bytes only: a malicious file can then cause undefined behaviour.
  case minimal = 0
  /// Everything: a program that passes cannot cause undefined behaviour later.
  case internalConsistency = 1
}

/// A program and its methods.
///
/// A program or method is loaded by `load`, or when it is first needed. Outputs refer to the module's memory until
/// their method runs again, see ``AnyTensor``. So one thread at a time may use a module and its outputs, which Swift 6
/// checks. For concurrent calls give each thread its own module: ``share()`` makes one without loading the weights
/// again. For calls from asynchronous code there is ``AsyncModule``.
public final class Module {
  /// The program's file; empty for a program that is not loaded from one.
  public let filePath: String

  // Older language modes do not check this, so a call from a second thread waits here. The lock is recursive, so that a
  // log sink that calls the module gets the runtime's error instead of a deadlock.
  private let lock = NSRecursiveLock()
  private let source: ModuleSource
  private var handle: OpaquePointer?
  private var boundInputs: [String: [Int: Value]] = [:]
  private struct WeakResult { weak var result: ExecutionResult? }
  private var lastResults: [String: WeakResult] = [:]

  /// A module of the program in a file, with weights in other files if the program has any.
  /// - Parameter threadCount: see ``Runtime/setThreadCount(_:)``; set when the program is loaded. 0 does not change it.
  public init(
    filePath: String, dataFilePaths: [String] = [], loadMode: ModuleLoadMode = .file, threadCount: Int = 0
  ) {
    self.filePath = filePath
    source = ModuleSource(
      program: .file(filePath), dataFilePaths: dataFilePaths, loadMode: loadMode, threadCount: threadCount)
  }

  /// A module of a bundled program (`.bpte`), which has test cases: see ``executeBundled(_:case:)``.
  public init(bundledFilePath: String, loadMode: ModuleLoadMode = .file) {
    filePath = bundledFilePath
    source = ModuleSource(program: .bundledFile(bundledFilePath), dataFilePaths: [], loadMode: loadMode)
  }

  /// A module of the program in `data`, which is used in place.
  public init(data: Data, dataFilePaths: [String] = [], loadMode: ModuleLoadMode = .file) {
    filePath = ""
    source = ModuleSource(program: .bytes(DataBytes(data)), dataFilePaths: dataFilePaths, loadMode: loadMode)
  }

  private init(loaded handle: OpaquePointer, filePath: String, source: ModuleSource) {
    self.filePath = filePath
    self.source = source
    self.handle = handle
  }

  deinit {
    et_module_free(handle)
  }

  /// A module of the same program, for use in another thread: weights are shared, methods and their state are not. Loads
  /// this one's program if it is not loaded.
  public func share() throws -> sending Module {
    let made = try locked {
      let module = try loadedHandle()
      var made: OpaquePointer?
      try check { et_module_share(module, &made, $0) }
      return Transfer(made!)  // it refers to nothing in this module that changes
    }
    return Module(loaded: made.value, filePath: filePath, source: source)
  }

  // MARK: Loading

  /// Loads the program if it is not loaded, and checks it.
  public func load(verification: ModuleVerification = .internalConsistency) throws {
    try locked { _ = try loadedHandle(verification: verification) }
  }

  /// Loads the program with settings for its backends.
  /// - Throws: `invalidState` when it is loaded already and `options` is not empty.
  public func load(
    options: BackendOptionsMap, verification: ModuleVerification = .internalConsistency
  ) throws {
    try locked {
      try checkNotLoaded(options)
      _ = try loadedHandle(options: options, verification: verification)
    }
  }

  public func isLoaded() -> Bool {
    locked { handle != nil }
  }

  /// Loads a method, and the program before it. Otherwise, the first call does so.
  public func load(_ method: String) throws {
    try locked {
      let module = try loadedHandle()
      try check { et_module_load_method(module, method, $0) }
    }
  }

  /// The same with settings for the program's backends.
  /// - Throws: `invalidState` when the program is loaded already and `options` is not empty.
  public func load(_ method: String, options: BackendOptionsMap) throws {
    try load(options: options)
    try load(method)
  }

  public func isLoaded(_ method: String) -> Bool {
    locked { handle.map { et_module_is_method_loaded($0, method) } ?? false }
  }

  /// Frees the memory of a method, and forgets its state and the inputs and outputs that were set. Outputs that are
  /// still in use are copied.
  /// - Returns: whether it was loaded.
  @discardableResult
  public func unload(_ method: String) -> Bool {
    locked {
      guard let handle, et_module_is_method_loaded(handle, method) else { return false }
      detachOutputs(of: method)
      boundInputs[method] = nil
      return et_module_unload_method(handle, method, nil) == et_status(ET_STATUS_OK)
    }
  }

  // MARK: Metadata

  /// The names of the methods; loads the program.
  public func methodNames() throws -> Set<String> {
    try locked {
      let module = try loadedHandle()
      return Set(
        (0..<et_module_method_count(module)).compactMap { index in
          et_method_meta_name(et_module_method_at(module, index)).map { String(cString: $0) }
        })
    }
  }

  /// The signature of a method. Loads the program, not the method.
  /// - Throws: `invalidArgument`, with the names of the existing methods.
  public func methodMetadata(_ name: String) throws -> MethodMetadata {
    try locked {
      let module = try loadedHandle()
      var meta: OpaquePointer?
      try check { et_module_method(module, name, &meta, $0) }
      return try MethodMetadata(meta!)
    }
  }

  // MARK: Persistent inputs and outputs

  /// Sets an input for all later calls that do not pass it.
  public func setInput(_ value: ValueConvertible, for method: String = "forward", at index: Int = 0) throws {
    try locked {
      let count = try methodMetadata(method).inputValueTags.count
      guard (0..<count).contains(index) else {
        throw ExecuTorchError(
          code: .invalidArgument, description: "method '\(method)' takes \(count) inputs, found the index \(index)")
      }
      boundInputs[method, default: [:]][index] = value.asValue()
    }
  }

  /// Sets all inputs of a method.
  public func setInputs(_ values: [ValueConvertible], for method: String = "forward") throws {
    try locked {
      let count = try methodMetadata(method).inputValueTags.count
      try Module.checkCount(of: values.count, expected: count, for: method)
      boundInputs[method] = Dictionary(uniqueKeysWithValues: values.enumerated().map { ($0, $1.asValue()) })
    }
  }

  public func setInputs(_ values: ValueConvertible..., for method: String = "forward") throws {
    try setInputs(values, for: method)
  }

  /// Makes a method write an output into the memory of a tensor, of the output's type and shape, until it is unloaded.
  /// Only for outputs that were left out of memory planning at export.
  public func setOutput(_ value: ValueConvertible, for method: String = "forward", at index: Int = 0) throws {
    let value = value.asValue()
    guard let tensor = value.anyTensor else {
      throw ExecuTorchError(code: .invalidType, description: "expected a tensor to write an output to, found \(value.tag)")
    }
    try locked {
      let module = try loadedHandle()
      tensor.storage.detach()
      tensor.storage.prepareForMutation()
      let runtimeTensor = try tensor.runtimeTensor()
      try check { et_module_set_output(module, method, index, runtimeTensor, $0) }
    }
  }

  // MARK: Execution

  /// Runs a method: inputs that are not passed are those that were set.
  func run(_ method: String, _ inputs: [ValueConvertible], cancellation: Cancellation? = nil) throws -> [Value] {
    let values = inputs.map { $0.asValue() }
    return try locked {
      let complete = boundInputs[method] == nil ? values : try completed(values, for: method)
      return try run(method) { module, out in
        try withRuntimeValues(complete) { inputs in
          try check {
            et_module_execute_cancellable(module, method, inputs.baseAddress, inputs.count, cancellation?.handle, out, $0)
          }
        }
      }
    }
  }

  /// Runs a method with `call`, a call of the C interface that returns its outputs.
  func run(
    _ method: String, _ call: (OpaquePointer, UnsafeMutablePointer<OpaquePointer?>) throws -> Void
  ) throws -> [Value] {
    try locked {
      let module = try loadedHandle()
      detachOutputs(of: method)
      var made: OpaquePointer?
      try call(module, &made)
      let result = ExecutionResult(made!)
      lastResults[method] = WeakResult(result: result)
      let outputs = UnsafeBufferPointer(start: et_result_values(made), count: et_result_size(made))
      return outputs.map { Value($0, of: result) }
    }
  }

  /// Calls the C interface with the module, which is loaded for it.
  func withHandle<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
    try locked { try body(loadedHandle()) }
  }

  private func completed(_ values: [Value], for method: String) throws -> [Value] {
    let bound = boundInputs[method] ?? [:]
    let count = try methodMetadata(method).inputValueTags.count
    guard values.count < count else { return values }
    return try values
      + (values.count..<count).map { index in
        guard let value = bound[index] else {
          throw ExecuTorchError(
            code: .invalidArgument,
            description: "method '\(method)' takes \(count) inputs: input \(index) is neither given nor set")
        }
        return value
      }
  }

  private static func checkCount(of found: Int, expected: Int, for method: String) throws {
    guard found == expected else {
      throw ExecuTorchError(
        code: .invalidArgument, description: "method '\(method)' takes \(expected) inputs, found \(found)")
    }
  }

  // MARK: -

  private func locked<Result>(_ body: () throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body()
  }

  private func loadedHandle(
    options: BackendOptionsMap? = nil, verification: ModuleVerification = .internalConsistency
  ) throws -> OpaquePointer {
    if let handle { return handle }
    let made = try source.load(options: options, verification: verification)
    handle = made
    return made
  }

  private func checkNotLoaded(_ options: BackendOptionsMap) throws {
    guard handle == nil || options.options.isEmpty else {
      throw ExecuTorchError(
        code: .invalidState,
        description: "the program is loaded already: give the options of its backends with the first load")
    }
  }

  private func detachOutputs(of method: String) {
    lastResults[method]?.result?.detachTensors()
    lastResults[method] = nil
  }
}

/// Calls `body` with the values in the runtime's form, which are valid until it returns.
private func withRuntimeValues<Result>(
  _ values: [Value], _ body: (UnsafeBufferPointer<et_value>) throws -> Result
) throws -> Result {
  var strings: [UnsafeMutableBufferPointer<UInt8>] = []
  defer { strings.forEach { $0.deallocate() } }
  let runtimeValues = try values.map { value in
    var result = et_value()
    result.tag = et_tag(value.tag.rawValue)
    switch value.payload {
    case .tensor(let tensor): result.payload.as_tensor = try tensor.runtimeTensor()
    case .double(let double): result.payload.as_double = double
    case .integer(let integer): result.payload.as_int = Int64(integer)
    case .boolean(let boolean): result.payload.as_bool = boolean ? 1 : 0
    case .string(let string):
      let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: string.utf8.count)
      _ = bytes.initialize(from: string.utf8)
      strings.append(bytes)
      result.payload.as_span = et_span(data: bytes.baseAddress, size: bytes.count)
    case .none, .booleans, .doubles, .integers, .tensors: break  // the runtime refuses lists, with its own message
    }
    return result
  }
  return try withExtendedLifetime(values) { try runtimeValues.withUnsafeBufferPointer(body) }
}
