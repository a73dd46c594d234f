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
 * What a call from Kotlin adds to the same call in C++: of a program that adds two tensors of 6 numbers, so that next to
 * nothing of the time is the model's, or of the one named. `sdk/android/test --bench [FILE.pte]`
 *
 * One module and the same inputs for both, in turns, on one thread: CPU time of the calling thread.
 */
internal fun main(arguments: Array<String>) {
  val path = arguments.firstOrNull() ?: Corpus.path("add")
  Module.load(path, Module.LOAD_MODE_FILE, 1).use { module ->
    val buffers = module.getMethodMetadata("forward").inputs.map { it to onesInPlace(it) }
    val inputs = buffers.map { (metadata, buffer) -> EValue.from(Tensor.fromBlob(buffer, metadata.shape!!, metadata.dtype!!)) }.toTypedArray()
    module.forward(*inputs)
    val cpp = InCpp.open(handleOf(module), buffers.map { it.second }.toTypedArray())
    check(cpp != 0L) { "expected a program whose method 'forward' takes tensors only: $path" }
    val calls = max(1L, 200_000 / (InCpp.run(cpp, 10) / 10)).toInt() // the shorter, the more rounds nothing interrupts
    compare("forward, direct buffers", calls, cpp) { module.forward(*inputs) }
    val floats = inputs.all { it.toTensor().dtype() == DType.FLOAT }
    if (floats) {
      val arrays = inputs.map { it.toTensor().dataAsFloatArray to it.toTensor().shape() }
      compare("fromBlob(FloatArray) each, forward, dataAsFloatArray", calls, cpp) {
        val copies = Array(arrays.size) { EValue.from(Tensor.fromBlob(arrays[it].first, arrays[it].second)) }
        module.forward(*copies).forEach { it.toTensor().dataAsFloatArray }
      }
    }
  }
}

private fun onesInPlace(metadata: ValueMetadata): ByteBuffer {
  val ones = Tensor.ones(metadata.shape!!, metadata.dtype!!)
  return allocateBytes(ones.numel() * ones.dtype().bytes).also { copyBytes(ones.storage, it) }
}

private fun handleOf(module: Module): Long =
  Module::class.java.getDeclaredField("handle").apply { isAccessible = true }.getLong(module)

private fun compare(what: String, calls: Int, cpp: Long, call: () -> Unit) {
  fun inKotlin(): Long {
    val start = InCpp.now(false)
    repeat(calls) { call() }
    return InCpp.now(false) - start
  }
  val warm = InCpp.now(false) + 3_000_000_000
  while (InCpp.now(false) < warm) inKotlin() // until it is compiled
  val start = InCpp.now(true)
  var ofThread = 0L
  val rounds = List(3000) { InCpp.run(cpp, calls) to inKotlin().also { ofThread += it } }
  val ofProcess = InCpp.now(true) - start - rounds.sumOf { it.first }
  fun each(nanoseconds: Long) = nanoseconds / 1e3 / calls
  fun median(times: List<Long>) = times.sorted()[times.size / 2]
  val (inCpp, inKotlin) = rounds.unzip()
  println("%s, %d rounds of %d calls in turns, us of a call:".format(what, rounds.size, calls))
  for ((name, of) in listOf<Pair<String, (List<Long>) -> Long>>("least" to { it.min() }, "median" to ::median, "mean" to { it.sum() / it.size })) {
    println("  %-7s C++ %8.2f, Kotlin %8.2f: %5.2f more".format(name, each(of(inCpp)), each(of(inKotlin)), each(of(inKotlin) - of(inCpp))))
  }
  println("  the garbage collector and the compiler besides: %.2f".format(each(ofProcess - ofThread) / rounds.size))
}
