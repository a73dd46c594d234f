// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.nio.ByteBuffer
import kotlin.math.max

/** src/test/cpp/call_overhead.cpp: the same calls in C++. */
internal object InCpp {
  init {
    System.loadLibrary("executorch_call_overhead")
  }

  @JvmStatic external fun open(module: Long, inputs: Array<ByteBuffer>): Long

  @JvmStatic external fun run(calls: Long, count: Int): Long

  @JvmStatic external fun now(process: Boolean): Long
}

/**
 * Measures how much longer a call takes from Kotlin than in C++: `sdk/android/test --bench [FILE.pte]`. Without a file,
 * the program adds two tensors of 6 numbers, which takes almost no time.
 *
 * Both sides use the same module and inputs, alternately, on one thread. The time is the CPU time of that thread.
 */
internal fun main(arguments: Array<String>) {
  val add = Corpus.path("add")
  // Warms up the JIT: a program that takes a millisecond would not be called often enough to be compiled.
  measure(add) { _, _, _, call -> until(3.0, call) }
  measure(arguments.firstOrNull() ?: add, ::compare)
}

private fun measure(path: String, how: (what: String, calls: Int, cpp: Long, call: () -> Unit) -> Unit) {
  Module.load(path, Module.LOAD_MODE_FILE, 1).use { module ->
    val metadata = module.getMethodMetadata("forward").inputs
    val buffers = metadata.map(::onesInPlace).toTypedArray()
    val inputs = Array(buffers.size) { tensorIn(buffers[it], metadata[it]) }
    module.forward(*inputs)
    val cpp = InCpp.open(handleOf(module), buffers)
    check(cpp != 0L) { "expected a program whose method 'forward' takes tensors only: $path" }
    val calls = max(1L, 200_000 / (InCpp.run(cpp, 10) / 10)).toInt() // short rounds are seldom interrupted
    how("forward, direct buffers", calls, cpp) { module.forward(*inputs) }
    if (inputs.all { it.toTensor().dtype() == DType.FLOAT }) {
      val arrays = inputs.map { it.toTensor().dataAsFloatArray to it.toTensor().shape() }
      how("fromBlob(FloatArray) each, forward, dataAsFloatArray", calls, cpp) {
        val copies = Array(arrays.size) { EValue.from(Tensor.fromBlob(arrays[it].first, arrays[it].second)) }
        module.forward(*copies).forEach { it.toTensor().dataAsFloatArray }
      }
    }
  }
}

private fun until(seconds: Double, call: () -> Unit) {
  val end = InCpp.now(false) + (seconds * 1e9).toLong()
  while (InCpp.now(false) < end) repeat(100) { call() }
}

private fun onesInPlace(metadata: ValueMetadata): ByteBuffer {
  val ones = Tensor.ones(metadata.shape!!, metadata.dtype!!)
  return allocateBytes(ones.numel() * ones.dtype().bytes).also { copyBytes(ones.storage, it) }
}

private fun tensorIn(buffer: ByteBuffer, metadata: ValueMetadata): EValue =
  EValue.from(Tensor.fromBlob(buffer, metadata.shape!!, metadata.dtype!!))

private fun handleOf(module: Module): Long =
  Module::class.java.getDeclaredField("handle").apply { isAccessible = true }.getLong(module)

private fun compare(what: String, calls: Int, cpp: Long, call: () -> Unit) {
  fun inKotlin(): Long {
    val start = InCpp.now(false)
    repeat(calls) { call() }
    return InCpp.now(false) - start
  }
  until(0.5, call)
  val start = InCpp.now(true)
  var ofThread = 0L
  val rounds = List(3000) { InCpp.run(cpp, calls) to inKotlin().also { ofThread += it } }
  val ofProcess = InCpp.now(true) - start - rounds.sumOf { it.first }
  fun each(nanoseconds: Long) = nanoseconds / 1e3 / calls
  fun median(times: List<Long>) = times.sorted()[times.size / 2]
  val (inCpp, inKotlin) = rounds.unzip()
  println("%s: %d rounds of %d calls, C++ and Kotlin in turn; microseconds per call:".format(what, rounds.size, calls))
  fun line(name: String, cpp: Long, kotlin: Long) =
    println("  %-7s C++ %8.2f, Kotlin %8.2f: %5.2f more".format(name, each(cpp), each(kotlin), each(kotlin - cpp)))
  line("least", inCpp.min(), inKotlin.min())
  line("median", median(inCpp), median(inKotlin))
  line("mean", inCpp.sum() / inCpp.size, inKotlin.sum() / inKotlin.size)
  val ofOthers = each(ofProcess - ofThread) / rounds.size
  println("  CPU time of other threads (garbage collector, JIT compiler), per Kotlin call: %.2f".format(ofOthers))
}
