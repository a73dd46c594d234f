// Written by sdk.export for model.pte; do not edit.
package model

import java.io.Closeable
import org.pytorch.executorch.DType
import org.pytorch.executorch.EValue
import org.pytorch.executorch.Module
import org.pytorch.executorch.Tensor

/**
 * The program model.pte: 1,812 bytes, SHA-256 42674be688cf2cd0576ea7a7bbc7b2e18c712ab0774a49ca8106e9c603c4aebb.
 *
 * `forward(input_0: float32[2, 3], input_1: int, input_2: double, input_3: bool) -> float32[2, 3]`, with 80 bytes of planned memory.
 *
 * Wrong shapes and dtypes are an [IllegalArgumentException].
 */
public class ScalarInputs(public val module: Module) : Closeable {
  /**
   * `forward(input_0: float32[2, 3], input_1: int, input_2: double, input_3: bool) -> float32[2, 3]`
   * @param input0 float32[2, 3]
   * @param input1 int
   * @param input2 double
   * @param input3 bool
   */
  public fun forward(input0: Tensor, input1: Long, input2: Double, input3: Boolean): Tensor {
    checkInput(input0, DType.FLOAT, "input0", 2L..2L, 3L..3L)
    val outputs = module.execute("forward", EValue.from(input0), EValue.from(input1), EValue.from(input2), EValue.from(input3))
    return tensor(outputs[0], DType.FLOAT, "output")
  }

  override fun close(): Unit = module.close()

  public companion object {
    public const val FILE_NAME: String = "model.pte"
    public const val FILE_SIZE: Long = 1812L
    public const val SHA256: String = "42674be688cf2cd0576ea7a7bbc7b2e18c712ab0774a49ca8106e9c603c4aebb"

    /** Loads the program from a file. */
    @JvmStatic
    public fun load(path: String): ScalarInputs = ScalarInputs(Module.load(path, Module.LOAD_MODE_MMAP))

    private fun checkInput(tensor: Tensor, dtype: DType, name: String, vararg sizes: LongRange) {
      require(tensor.dtype() == dtype) { "$name: expected a tensor of $dtype, found one of ${tensor.dtype()}" }
      val shape = tensor.shape()
      require(shape.size == sizes.size && shape.indices.all { shape[it] in sizes[it] }) {
        "$name: expected a shape of ${sizes.contentToString()}, found ${shape.contentToString()}"
      }
    }

    private fun tensor(value: EValue, dtype: DType, name: String): Tensor {
      val tensor = value.toTensor()
      check(tensor.dtype() == dtype) { "$name: expected a tensor of $dtype, found one of ${tensor.dtype()}" }
      return tensor
    }
  }
}
