// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import kotlin.math.max

/** src/test/cpp/call_overhead.cpp: the same calls in C++. */
internal object InCpp {
  init {
    System.loadLibrary("executorch_call_overhead")
  }

  @JvmStatic external fun open(path: String): Long

  @JvmStatic external fun run(program: Long, calls: Int): Long

  @JvmStatic external fun now(process: Boolean): Long
}

/**
 * What a call from Kotlin adds to the same call in C++: of a program that adds two tensors of 6 numbers, so that next to
 * nothing of the time is the model's, or of the one named. `sdk/android/test --bench [FILE.pte]`
 *
 * CPU time of the calling thread, on one thread, Kotlin and C++ in turns, the least of all rounds.
 */
internal fun main(arguments: Array<String>) {
  val path = arguments.firstOrNull() ?: Corpus.path("add")
  val cpp = InCpp.open(path)
  check(cpp != 0L) { "expected a program whose method 'forward' takes tensors only: $path" }
  Module.load(path, Module.LOAD_MODE_FILE, 1).use { module ->
    val inputs = module.getMethodMetadata("forward").inputs.map { onesInPlace(it) }.toTypedArray()
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

private fun onesInPlace(metadata: ValueMetadata): EValue {
  val ones = Tensor.ones(metadata.shape!!, metadata.dtype!!)
  val buffer = allocateBytes(ones.numel() * ones.dtype().bytes)
  copyBytes(ones.storage, buffer)
  return EValue.from(Tensor.fromBlob(buffer, ones.shape(), ones.dtype()))
}

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
  val inCpp = each(rounds.minOf { it.first })
  val inKotlin = each(rounds.minOf { it.second })
  println(
    "%-54s C++ %8.2f us, Kotlin %8.2f us: %5.2f us more; in the mean %.2f us more, with the garbage collector %.2f us".format(
      what, inCpp, inKotlin, inKotlin - inCpp, each(rounds.sumOf { it.second - it.first }) / rounds.size,
      each(ofProcess - ofThread + rounds.sumOf { it.second - it.first }) / rounds.size,
    )
  )
}
