// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

/**
 * What a call costs, from Kotlin to the outputs and back: of a program that adds two tensors of 6 numbers, so that next to
 * nothing of the time is the model's. `sdk/android/test --bench`
 */
internal fun main() {
  val shape = longArrayOf(2, 3)
  val a = EValue.from(Tensor.fromBlob(Tensor.allocateFloatBuffer(6), shape))
  val b = EValue.from(Tensor.fromBlob(Tensor.allocateFloatBuffer(6), shape))
  Module.load(Corpus.path("add")).use { module ->
    measure("forward, direct buffers") { module.forward(a, b) }
    val x = FloatArray(6)
    measure("fromBlob(FloatArray) twice, forward, dataAsFloatArray") {
      val inputs = Array(2) { EValue.from(Tensor.fromBlob(x, shape)) }
      module.forward(*inputs)[0].toTensor().dataAsFloatArray
    }
  }
}

private fun measure(what: String, call: () -> Unit) {
  repeat(50_000) { call() }
  val times = List(9) {
    val start = System.nanoTime()
    repeat(10_000) { call() }
    (System.nanoTime() - start) / 10_000 / 1e3
  }.sorted()
  println("%-56s median %5.2f us, best %5.2f us".format(what, times[4], times[0]))
}
