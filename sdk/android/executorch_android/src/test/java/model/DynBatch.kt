// Written by sdk.export for model.pte; do not edit.
package model

import java.io.Closeable
import org.pytorch.executorch.DType
import org.pytorch.executorch.EValue
import org.pytorch.executorch.Module
import org.pytorch.executorch.Tensor

/**
 * The program model.pte: 3,024 bytes, SHA-256 1b284b1a261508823f6bbae77254b8478e7ba4cdb2fe97151fe4c3c02d1a4d5c.
 *
 * `forward(input_0: float32[0..32, 0..8]) -> float32[0..32, 0..4]`, with 4,096 bytes of planned memory.
 *
 * Wrong shapes and dtypes are an [IllegalArgumentException].
 */
public class DynBatch(public val module: Module) : Closeable {
  /**
   * `forward(input_0: float32[0..32, 0..8]) -> float32[0..32, 0..4]`
   * @param input0 float32[0..32, 0..8]
   */
  public fun forward(input0: Tensor): Tensor {
    checkInput(input0, DType.FLOAT, "input0", 0L..32L, 0L..8L)
    val outputs = module.execute("forward", EValue.from(input0))
    return tensor(outputs[0], DType.FLOAT, "output")
  }

  override fun close(): Unit = module.close()

  public companion object {
    public const val FILE_NAME: String = "model.pte"
    public const val FILE_SIZE: Long = 3024L
    public const val SHA256: String = "1b284b1a261508823f6bbae77254b8478e7ba4cdb2fe97151fe4c3c02d1a4d5c"

    /** Loads the program from a file. */
    @JvmStatic
    public fun load(path: String): DynBatch = DynBatch(Module.load(path, Module.LOAD_MODE_MMAP))

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
