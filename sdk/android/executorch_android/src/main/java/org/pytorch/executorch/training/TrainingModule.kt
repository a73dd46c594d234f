// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch.training

import java.io.Closeable
import java.util.concurrent.ConcurrentHashMap
import org.pytorch.executorch.EValue
import org.pytorch.executorch.Module
import org.pytorch.executorch.Tensor

/**
 * A program that is trained on the device. Its methods return gradients and parameters after their outputs, as methods
 * that are exported with PyTorch's `_export_forward_backward` do.
 *
 *     TrainingModule.load("model.pte").use { module ->
 *       val optimizer = SGD.create(module.namedParameters("forward"), 0.1)
 *       val loss = module.executeForwardBackward("forward", input, target)[0].toTensor().dataAsFloatArray[0]
 *       optimizer.step(module.namedGradients("forward"))
 *     }
 *
 * The next call uses the parameters that a step has changed. The functions may be called from any thread, but no method
 * may run while an optimizer steps.
 */
public class TrainingModule private constructor(private val module: Module) : Closeable {
  /** The indices of the first gradient and the first parameter among the outputs; both are in the order of [names]. */
  private class Layout(val gradients: Int, val parameters: Int, val names: List<String>)

  private val layouts = ConcurrentHashMap<String, Layout>()
  private val gradients = ConcurrentHashMap<String, Map<String, Tensor>>()

  /**
   * Runs a method.
   *
   * @return its outputs without gradients and parameters: the loss, and other outputs of the model. Like those of
   *   [Module.execute] they refer to the module's memory until the method runs again.
   */
  public fun executeForwardBackward(methodName: String, vararg inputs: EValue): Array<EValue> {
    val layout = layoutOf(methodName)
    val outputs = module.execute(methodName, *inputs)
    gradients[methodName] = named(layout, outputs, layout.gradients)
    return outputs.copyOf(layout.gradients).requireNoNulls()
  }

  /**
   * The parameters by their names in PyTorch. They refer to the module's memory, without a copy, and stay valid as long
   * as they are reachable.
   */
  public fun namedParameters(methodName: String): Map<String, Tensor> {
    val layout = layoutOf(methodName)
    // This invalidates the outputs of the last run, so the gradients of that run, if there was one, are read again.
    // They are in the same memory.
    val outputs = module.outputs(methodName)
    if (gradients.containsKey(methodName)) gradients[methodName] = named(layout, outputs, layout.gradients)
    return named(layout, outputs, layout.parameters).mapValues { it.value.lasting() }
  }

  /**
   * The gradients of the last [executeForwardBackward] by the names of their parameters, until the next one.
   *
   * @throws IllegalStateException if the method has not run.
   */
  public fun namedGradients(methodName: String): Map<String, Tensor> =
    checkNotNull(gradients[methodName]) { "'$methodName' has not run: call executeForwardBackward(\"$methodName\", ...) first" }

  /** [Module.close]. Parameters that were handed out stay valid. */
  override fun close(): Unit = module.close()

  private fun named(layout: Layout, outputs: Array<EValue>, first: Int): Map<String, Tensor> =
    layout.names.withIndex().associate { (i, name) -> name to outputs[first + i].toTensor() }

  private fun layoutOf(method: String): Layout =
    layouts[method] ?: read(method).also { layouts[method] = it }

  private fun read(method: String): Layout {
    val methods = module.getMethods()
    require(method in methods) { "there is no method '$method'; the program has: ${methods.joinToString()}" }
    val (gradients, parameters, names) = PARTS.map { "__et_training_${it}_$method" }
    require(listOf(gradients, parameters, names).all { it in methods }) {
      "method '$method' gives no gradients: export it with torch.export.experimental._export_forward_backward"
    }
    val layout = Layout(index(gradients), index(parameters), module.execute(names).map { it.toStr() })
    val count = module.getMethodMetadata(method).outputs.size
    require(layout.gradients in 0..layout.parameters && layout.parameters + layout.names.size <= count &&
      layout.gradients + layout.names.size <= layout.parameters) {
      "method '$method' is said to have ${layout.names.size} gradients from output ${layout.gradients} on and as many " +
        "parameters from ${layout.parameters} on, found $count outputs"
    }
    return layout
  }

  private fun index(method: String): Int = module.execute(method)[0].toInt().coerceIn(-1, Int.MAX_VALUE / 2L).toInt()

  public companion object {
    private val PARTS = listOf("gradients_index", "parameters_index", "fqn")

    /**
     * Loads and verifies a program.
     *
     * @param modelPath of the `.pte` file.
     * @param dataPath of the `.ptd` file with its parameters, if they are in a separate file.
     * @throws IllegalArgumentException if there is no such file or it cannot be read.
     */
    @JvmStatic
    @JvmOverloads
    public fun load(modelPath: String?, dataPath: String? = null): TrainingModule =
      TrainingModule(Module.load(modelPath, listOfNotNull(dataPath)))
  }
}
