// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.io.File
import kotlin.math.abs
import kotlin.test.assertContentEquals
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertTrue
import org.junit.jupiter.api.DynamicTest
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.TestFactory
import org.pytorch.executorch.training.SGD
import org.pytorch.executorch.training.TrainingModule

/** Training on the device takes the same steps as PyTorch eager: tests/data/training. */
internal class TrainingTest {
  private val folder = File(Corpus.root.parentFile, "training")
  private val expected = Json.parse(File(folder, "expected.json").readText()) as Map<*, *>
  private val points =
    (expected["points"] as List<*>).map { point ->
      point as Map<*, *>
      val x = numbers(point["x"]).map { it.toFloat() }.toFloatArray()
      arrayOf(
        EValue.from(Tensor.fromBlob(x, longArrayOf(1, 2))),
        EValue.from(Tensor.fromBlob(longArrayOf(point["target"] as Long), longArrayOf(1))),
      )
    }

  private fun numbers(list: Any?) = (list as List<*>).map { (it as Number).toDouble() }

  private fun load(name: String) =
    if (name == "xor") TrainingModule.load(File(folder, "xor.pte").path)
    else TrainingModule.load(File(folder, "$name.pte").path, File(folder, "$name.ptd").path)

  private fun optimizer(parameters: Map<String, Tensor>, options: Map<*, *>): SGD {
    fun option(name: String) = (options[name] as Number? ?: 0.0).toDouble()
    if (options.size == 1) return SGD.create(parameters, option("lr"))
    val nesterov = options["nesterov"] as Boolean? ?: false
    return SGD.create(parameters, option("lr"), option("momentum"), option("dampening"), option("weight_decay"), nesterov)
  }

  @TestFactory
  fun takesTheStepsOfEager() =
    listOf("xor", "xor_external").flatMap { name ->
      (expected["runs"] as List<*>).map { run ->
        run as Map<*, *>
        DynamicTest.dynamicTest("$name ${run["options"]}") { train(name, run) }
      }
    }

  private fun train(name: String, run: Map<*, *>) {
    load(name).use { module ->
      val parameters = module.namedParameters("forward")
      val optimizer = optimizer(parameters, run["options"] as Map<*, *>)
      val losses =
        numbers(run["losses"]).indices.map { step ->
          val outputs = module.executeForwardBackward("forward", *points[step % points.size])
          assertEquals(2, outputs.size, "the loss and the prediction")
          val loss = outputs[0].toTensor().dataAsFloatArray[0].toDouble()
          optimizer.step(module.namedGradients("forward"))
          loss
        }
      // Both compute in float32 but add in another order; the differences grow over 40 steps.
      assertNear(numbers(run["losses"]), losses)
      val wanted = run["parameters"] as Map<*, *>
      assertEquals(wanted.keys, parameters.keys)
      for ((parameter, tensor) in parameters) assertNear(numbers(wanted[parameter]), tensor.dataAsFloatArray.map { it.toDouble() })
    }
  }

  private fun assertNear(wanted: List<Double>, found: List<Double>) {
    assertEquals(wanted.size, found.size)
    wanted.zip(found).forEach { (a, b) -> assertTrue(abs(a - b) <= 2e-5 * (1 + abs(a)), "$b, expected $a") }
  }

  @Test
  fun parametersOutliveRunsAndTheModule() {
    val weight =
      load("xor").use { module ->
        val parameters = module.namedParameters("forward")
        val loss = module.executeForwardBackward("forward", *points[1])[0].toTensor()
        val gradients = module.namedGradients("forward")
        assertEquals(parameters.keys, gradients.keys)
        assertEquals(listOf(2L, 10L), gradients.getValue("second.weight").shape().toList())
        module.executeForwardBackward("forward", *points[2])
        assertFailsWith<IllegalStateException> { loss.dataAsFloatArray }
        assertFailsWith<IllegalStateException> { gradients.getValue("first.bias").dataAsFloatArray }
        parameters.getValue("first.weight")
      }
    repeat(3) { System.gc() }
    assertEquals(20, weight.dataAsFloatArray.size)
  }

  @Test
  fun gradientsStayWhenParametersAreAskedFor() {
    load("xor").use { module ->
      module.executeForwardBackward("forward", *points[1])
      val before = module.namedGradients("forward").getValue("second.bias").dataAsFloatArray
      module.namedParameters("forward")
      assertContentEquals(before, module.namedGradients("forward").getValue("second.bias").dataAsFloatArray)
    }
  }

  @Test
  fun mistakesAreSaid() {
    fun says(vararg parts: String, block: () -> Unit) {
      val message = assertFailsWith<RuntimeException> { block() }.message!!
      for (part in parts) assertTrue(part in message, message)
    }
    load("xor").use { module ->
      says("has not run", "executeForwardBackward") { module.namedGradients("forward") }
      says("no method 'backward'", "forward") { module.namedParameters("backward") }
      says("takes 2 inputs, found 0") { module.executeForwardBackward("forward") }
      val parameters = module.namedParameters("forward")
      says("learningRate", "-1.0") { SGD.create(parameters, -1.0) }
      says("momentum", "NaN") { SGD.create(parameters, 0.1, Double.NaN, 0.0, 0.0, false) }
      says("nesterov", "momentum") { SGD.create(parameters, 0.1, 0.0, 0.0, 0.0, true) }
      says("FLOAT", "INT64") { SGD.create(mapOf("a" to Tensor.ones(longArrayOf(1), DType.INT64)), 0.1) }
      val optimizer = SGD.create(parameters, 0.1)
      val before = parameters.getValue("first.bias").dataAsFloatArray
      val ones = Tensor.ones(longArrayOf(10), DType.FLOAT)
      says("no parameter 'third'", "first.bias") { optimizer.step(mapOf("first.bias" to ones, "third" to ones)) }
      says("second.bias", "[2]", "[10]") { optimizer.step(mapOf("first.bias" to ones, "second.bias" to ones)) }
      assertContentEquals(before, parameters.getValue("first.bias").dataAsFloatArray)
    }
    TrainingModule.load(Corpus.path("add")).use { module ->
      says("gives no gradients", "_export_forward_backward") { module.namedParameters("forward") }
    }
    says("no model at /nowhere") { TrainingModule.load("/nowhere") }
  }
}
