// SPDX-License-Identifier: BSD-3-Clause

public enum BackendOptionType: Int, Sendable {
  case boolean
  case integer
  case string
}

/// A setting of a backend, such as its number of threads. The documentation of the backend lists them.
public struct BackendOption: Hashable, Sendable {
  enum Payload: Hashable, Sendable {
    case boolean(Bool)
    case integer(Int)
    case string(String)
  }

  public let key: String
  let payload: Payload

  public init(_ key: String, _ value: Bool) {
    self.key = key
    payload = .boolean(value)
  }

  public init(_ key: String, _ value: Int) {
    self.key = key
    payload = .integer(value)
  }

  public init(_ key: String, _ value: String) {
    self.key = key
    payload = .string(value)
  }

  public var type: BackendOptionType {
    switch payload {
    case .boolean: return .boolean
    case .integer: return .integer
    case .string: return .string
    }
  }

  /// The value; false, 0 or "" for an option of another type.
  public var boolValue: Bool {
    if case .boolean(let value) = payload { return value }
    return false
  }

  public var intValue: Int {
    if case .integer(let value) = payload { return value }
    return 0
  }

  public var stringValue: String {
    if case .string(let value) = payload { return value }
    return ""
  }
}

/// Settings by the name of their backend.
public struct BackendOptionsMap: Hashable, Sendable {
  public let options: [String: [BackendOption]]

  /// - Throws: `invalidArgument` for a backend or key without a name, a key that is given twice, or an integer of more
  ///   than 32 bits.
  public init(options: [String: [BackendOption]]) throws {
    for (backend, list) in options {
      guard !backend.isEmpty, list.allSatisfy({ !$0.key.isEmpty }) else {
        throw ExecuTorchError(code: .invalidArgument, description: "a backend, or an option of one, has an empty name")
      }
      guard Set(list.map(\.key)).count == list.count else {
        throw ExecuTorchError(
          code: .invalidArgument, description: "an option of the backend '\(backend)' is given twice: \(list.map(\.key))")
      }
      for option in list where Int32(exactly: option.intValue) == nil {
        throw ExecuTorchError(
          code: .invalidArgument,
          description: "expected at most 32 bits in '\(option.key)' of '\(backend)', found \(option.intValue)")
      }
    }
    self.options = options
  }
}
