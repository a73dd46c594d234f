// SPDX-License-Identifier: BSD-3-Clause
// What a call through Module costs above the C interface: the same program with the same inputs, in turns.
//
//   sdk/ios/test --benchmark [program.pte]
import CExecuTorch
import ExecuTorch
import Foundation

let path =
  CommandLine.arguments.count > 1
  ? CommandLine.arguments[1]
  : URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../../../tests/data/corpus/add/model.pte").standardizedFileURL.path

/// CPU time of this thread, in nanoseconds: others may use the machine meanwhile.
func now() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

let module = Module(filePath: path)
let metadata = try module.methodMetadata("forward")
let inputs = metadata.inputValueTags.indices.map { index -> AnyTensor in
  guard let input = metadata.inputTensorMetadata[index] else { fatalError("input \(index) of \(path) is no tensor") }
  return AnyTensor.rand(shape: input.shape, dataType: input.dataType)
}

// The same through the C interface.
var handle: OpaquePointer?
guard et_module_load_file(path, nil, &handle, nil) == 0 else { fatalError("cannot load \(path)") }
var values: [et_value] = inputs.map { input in
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
@MainActor func callC() {
  var result: OpaquePointer?
  guard et_module_execute(handle, "forward", values, values.count, &result, nil) == 0 else { fatalError() }
  et_result_free(result)
}
@MainActor func callSwift() throws {
  _ = try module.forward(inputs)
}

let rounds = 200
let calls = 100
var swiftTimes: [Double] = []
var cTimes: [Double] = []
for _ in 0..<rounds {
  var start = now()
  for _ in 0..<calls { callC() }
  cTimes.append(Double(now() - start) / Double(calls))
  start = now()
  for _ in 0..<calls { try callSwift() }
  swiftTimes.append(Double(now() - start) / Double(calls))
}
func median(_ times: [Double]) -> Double { times.sorted()[times.count / 2] / 1000 }
let (swift, c) = (median(swiftTimes), median(cTimes))
print(
  String(
    format: "C %.2f us, Swift %.2f us a call: %.2f us more (median of %d rounds of %d calls, CPU time)", c, swift,
    swift - c, rounds, calls))
