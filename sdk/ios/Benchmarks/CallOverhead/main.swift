// SPDX-License-Identifier: BSD-3-Clause
// Measures what a call through Module costs beyond a call of the C interface: the same program with the same inputs,
// alternately.
//
//   sdk/ios/test --benchmark [program.pte ...]     programs in this source tree; without any, one that adds two tensors
import CExecuTorch
import ExecuTorch
import Foundation

/// CPU time of this thread, in nanoseconds, because other processes may use the machine meanwhile.
func now() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Makes the same call through Module and through the C interface. Modules and inputs are made once, as in an app.
struct Calls {
  let module: Module
  let inputs: [AnyTensor]
  let handle: OpaquePointer
  let values: [et_value]

  init(_ path: String) throws {
    module = Module(filePath: path)
    let metadata = try module.methodMetadata("forward")
    inputs = metadata.inputValueTags.indices.map { index in
      guard let input = metadata.inputTensorMetadata[index] else { fatalError("input \(index) of \(path) is not a tensor") }
      let isReal = [DataType.float, .double, .half].contains(input.dataType)
      return isReal ? .rand(shape: input.shape, dataType: input.dataType) : .zeros(shape: input.shape, dataType: input.dataType)
    }
    // Weights in memory of the same kind.
    var options: OpaquePointer?
    guard et_options_create(&options, nil) == 0 else { fatalError() }
    defer { et_options_free(options) }
    guard et_options_set_load_mode(options, et_load_mode(ModuleLoadMode.file.rawValue), nil) == 0 else { fatalError() }
    var made: OpaquePointer?
    guard et_module_load_file(path, options, &made, nil) == 0 else { fatalError("cannot load \(path)") }
    handle = made!
    values = inputs.map { input in
      let shape = input.shape.map { Int32($0) }
      var tensor: OpaquePointer?
      guard et_tensor_create(et_dtype(input.dataType.rawValue), shape, shape.count, &tensor, nil) == 0 else { fatalError() }
      input.bytes { pointer, count, dataType in
        et_tensor_mutable_data(tensor).copyMemory(from: pointer, byteCount: count * size(ofDataType: dataType))
      }
      var value = et_value()
      value.tag = et_tag(ET_TAG_TENSOR)
      value.payload.as_tensor = tensor
      return value
    }
  }

  func callC() {
    var result: OpaquePointer?
    guard et_module_execute(handle, "forward", values, values.count, &result, nil) == 0 else { fatalError() }
    et_result_free(result)
  }

  func callSwift() throws {
    _ = try module.forward(inputs)
  }
}

/// Nanoseconds of one of `count` calls.
func time(_ count: Int, _ call: () throws -> Void) rethrows -> Double {
  let start = now()
  for _ in 0..<count { try call() }
  return Double(now() - start) / Double(count)
}

func measure(_ path: String) throws {
  let calls = try Calls(path)
  calls.callC()
  try calls.callSwift()
  // A round takes a millisecond or more, so that reading the clock does not matter.
  let count = max(1, Int(1_000_000 / max(time(3, calls.callC), 1)))
  var (c, swift): ([Double], [Double]) = ([], [])
  let rounds = 400
  for _ in 0..<rounds {
    c.append(time(count, calls.callC))
    swift.append(try time(count, calls.callSwift))
  }
  func median(_ times: [Double]) -> Double { times.sorted()[times.count / 2] }
  func line(_ name: String, _ c: Double, _ swift: Double) -> String {
    String(format: "%@: C %.2f us, Swift %.2f us, %.2f us more", name, c / 1000, swift / 1000, (swift - c) / 1000)
  }
  print(URL(fileURLWithPath: path).lastPathComponent, "- CPU time of a call, \(rounds) alternating rounds of \(count)")
  print("  " + line("least", c.min()!, swift.min()!))
  print("  " + line("median", median(c), median(swift)))
}

try Runtime.setThreadCount(1)
let given = Array(CommandLine.arguments.dropFirst())
let add = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
  .appendingPathComponent("../../../../tests/data/corpus/add/model.pte").standardizedFileURL.path
for path in given.isEmpty ? [add] : given { try measure(path) }
