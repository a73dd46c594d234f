// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch.training

import java.nio.DoubleBuffer
import java.nio.FloatBuffer
import org.pytorch.executorch.Tensor

/**
 * Stochastic gradient descent with the rule of `torch.optim.SGD`. With d = gradient + weightDecay * parameter, the first
 * step sets v = d, and each further one v = momentum * v + (1 - dampening) * d. Then it subtracts learningRate * v from
 * the parameter; with nesterov learningRate * (d + momentum * v), and without momentum learningRate * d.
 */
public class SGD
private constructor(
  private val parameters: Map<String, Tensor>,
  private val learningRate: Double,
  private val momentum: Double,
  private val dampening: Double,
  private val weightDecay: Double,
  private val nesterov: Boolean,
) {
  private val velocities = HashMap<String, DoubleArray>()

  /**
   * Changes the parameters in place. Parameters without a gradient are not changed.
   *
   * @param namedGradients by the names of their parameters, with the same shapes and dtypes.
   * @throws IllegalArgumentException for a gradient without a parameter, or with another shape or dtype than its
   *   parameter. No parameter has changed then.
   */
  public fun step(namedGradients: Map<String, Tensor>) {
    for ((name, gradient) in namedGradients) {
      val parameter = requireNotNull(parameters[name]) { "there is no parameter '$name'; there are: ${parameters.keys.joinToString()}" }
      require(
        gradient.dtype() == parameter.dtype() && gradient.shape().contentEquals(parameter.shape()) &&
          gradient.dimOrder().contentEquals(parameter.dimOrder())
      ) {
        "the gradient of '$name' must be like the parameter, $parameter; found $gradient"
      }
    }
    for ((name, gradient) in namedGradients) {
      val to = parameters.getValue(name).getRawDataBuffer()
      val from = gradient.copy().getRawDataBuffer()
      val isFirst = name !in velocities
      val velocity = if (momentum != 0.0) velocities.getOrPut(name) { DoubleArray(to.capacity()) } else null
      if (to is FloatBuffer) {
        from as FloatBuffer
        for (i in 0 until to.capacity()) to.put(i, stepped(to.get(i).toDouble(), from.get(i).toDouble(), velocity, i, isFirst).toFloat())
      } else {
        to as DoubleBuffer
        from as DoubleBuffer
        for (i in 0 until to.capacity()) to.put(i, stepped(to.get(i), from.get(i), velocity, i, isFirst))
      }
    }
  }

  private fun stepped(parameter: Double, gradient: Double, velocity: DoubleArray?, i: Int, isFirst: Boolean): Double {
    val d = gradient + weightDecay * parameter
    if (velocity == null) return parameter - learningRate * d
    velocity[i] = if (isFirst) d else momentum * velocity[i] + (1 - dampening) * d
    return parameter - learningRate * (if (nesterov) d + momentum * velocity[i] else velocity[i])
  }

  public companion object {
    /**
     * @param namedParameters the result of [TrainingModule.namedParameters].
     * @throws IllegalArgumentException for a negative learningRate, momentum or weightDecay; for nesterov without
     *   momentum or with dampening; for a parameter of a dtype other than FLOAT and DOUBLE.
     */
    @JvmStatic
    public fun create(
      namedParameters: Map<String, Tensor>,
      learningRate: Double,
      momentum: Double,
      dampening: Double,
      weightDecay: Double,
      nesterov: Boolean,
    ): SGD {
      val numbers = mapOf("learningRate" to learningRate, "momentum" to momentum, "weightDecay" to weightDecay)
      for ((name, number) in numbers) require(number >= 0) { "expected $name from 0 on, found $number" }
      require(!nesterov || (momentum > 0 && dampening == 0.0)) {
        "nesterov needs a momentum above 0 and no dampening, found $momentum and $dampening"
      }
      for ((name, parameter) in namedParameters) {
        val storage = parameter.getRawDataBuffer()
        require(storage is FloatBuffer || storage is DoubleBuffer) { "expected parameters of dtype FLOAT or DOUBLE, found '$name': $parameter" }
      }
      return SGD(HashMap(namedParameters), learningRate, momentum, dampening, weightDecay, nesterov)
    }

    /** Without momentum and weight decay. */
    @JvmStatic
    public fun create(namedParameters: Map<String, Tensor>, learningRate: Double): SGD =
      create(namedParameters, learningRate, 0.0, 0.0, 0.0, false)
  }
}
