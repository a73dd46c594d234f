// SPDX-License-Identifier: BSD-3-Clause
// tests/data/corpus: programs, their inputs, and the outputs of PyTorch eager.
import ExecuTorch
import Foundation

enum Corpus {
  static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().appendingPathComponent("../../../../tests/data/corpus").standardizedFileURL

  static func path(_ program: String, _ file: String = "model.pte") -> String {
    folder.appendingPathComponent(program).appendingPathComponent(file).path
  }

  static func module(_ program: String, loadMode: ModuleLoadMode = .file) -> Module {
    Module(filePath: path(program), loadMode: loadMode)
  }

  static func programs() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { FileManager.default.fileExists(atPath: path($0, "manifest.json")) }.sorted()
  }

  static func folders() throws -> [String] {
    try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: [.isDirectoryKey])
      .filter { try $0.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == true }.map(\.lastPathComponent).sorted()
  }

  static func manifest(_ program: String) throws -> Manifest {
    let data = try Data(contentsOf: URL(fileURLWithPath: path(program, "manifest.json")))
    return try JSONDecoder().decode(Manifest.self, from: data)
  }
}

struct Manifest: Decodable {
  struct Item: Decodable {
    let type: String
    let dtype: String?
    let shape: [Int]?
    let file: String?
    let orig_dim_order: [Int]?
    let value: Scalar?
  }

  enum Scalar: Decodable {
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)

    init(from decoder: Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let value = try? container.decode(Bool.self) {
        self = .bool(value)
      } else if let value = try? container.decode(Int.self) {
        self = .int(value)
      } else if let value = try? container.decode(Double.self) {
        self = .double(value)
      } else {
        self = .string(try container.decode(String.self))
      }
    }

    var number: Double {
      switch self {
      case .bool(let value): return value ? 1 : 0
      case .int(let value): return Double(value)
      case .double(let value): return value
      case .string: return .nan
      }
    }
  }

  struct Call: Decodable {
    let method: String
    let inputs: [Item]
    let outputs: [Item]
  }

  let pte: String
  let ptd: [String]?
  let calls: [Call]
}

extension Manifest.Item {
  var dataType: DataType {
    let types: [String: DataType] = [
      "uint8": .byte, "int8": .char, "int16": .short, "int32": .int, "int64": .long, "float16": .half,
      "float32": .float, "float64": .double, "bool": .bool, "bfloat16": .bFloat16,
    ]
    return types[dtype ?? ""] ?? .undefined
  }

  /// The value; a tensor has the dimension order of the program's input or output.
  func value(of program: String) throws -> Value {
    switch type {
    case "tensor":
      let data = try Data(contentsOf: URL(fileURLWithPath: Corpus.path(program, file!)))
      let contiguous = AnyTensor(data: data, shape: shape!, dataType: dataType)
      let result = AnyTensor.zeros(shape: shape!, dataType: dataType)
      let ordered = AnyTensor(result, dimensionOrder: orig_dim_order!)
      let itemSize = size(ofDataType: dataType)
      contiguous.bytes { from, count, _ in
        ordered.mutableBytes { to, _, _ in
          for index in 0..<count {
            (to + offset(index, ordered) * itemSize).copyMemory(from: from + index * itemSize, byteCount: itemSize)
          }
        }
      }
      return Value(ordered)
    case "int":
      if case .int(let number)? = value { return Value(number) }
    case "double":
      if let value { return Value(value.number) }
    case "bool":
      if case .bool(let flag)? = value { return Value(flag) }
    case "string":
      if case .string(let text)? = value { return Value(text) }
    default: break
    }
    return Value()
  }
}

/// The offset of the element with a row-major index.
func offset(_ index: Int, _ tensor: AnyTensor) -> Int {
  var rest = index
  var result = 0
  for dimension in tensor.shape.indices.reversed() {
    result += rest % tensor.shape[dimension] * tensor.strides[dimension]
    rest /= tensor.shape[dimension]
  }
  return result
}
