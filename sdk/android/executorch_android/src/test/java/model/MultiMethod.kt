// Written by sdk.export for model.pte; do not edit.
package model

import java.io.Closeable
import org.pytorch.executorch.DType
import org.pytorch.executorch.EValue
import org.pytorch.executorch.Module
import org.pytorch.executorch.Tensor

/**
 * The program model.pte: 5,088 bytes, SHA-256 0aa4f7e315b44f978e054caf248c8f4a16c474b184aaeeb2fdfe94a4017e4d7c.
 *
 * `decode(input_0: float32[2, 4], input_1: float32[2, 4]) -> float32[2, 4]`, with 160 bytes of planned memory.
 * `forward(input_0: float32[2, 4]) -> float32[2, 4]`, with 128 bytes of planned memory.
 * `get_max_seq_len() -> int`, with 0 bytes of planned memory.
 * `get_scale() -> double`, with 0 bytes of planned memory.
 * `use_kv() -> bool`, with 0 bytes of planned memory.
 * `get_tensor() -> float32[4]`, with 0 bytes of planned memory.
 * `get_list() -> int, int, int`, with 0 bytes of planned memory.
 * `get_two() -> int, double`, with 0 bytes of planned memory.
 *
 * Wrong shapes and dtypes are an [IllegalArgumentException].
 */
public class MultiMethod(public val module: Module) : Closeable {
  /**
   * `decode(input_0: float32[2, 4], input_1: float32[2, 4]) -> float32[2, 4]`
   * @param input0 float32[2, 4]
   * @param input1 float32[2, 4]
   */
  public fun decode(input0: Tensor, input1: Tensor): Tensor {
    checkInput(input0, DType.FLOAT, "input0", 2L..2L, 4L..4L)
    checkInput(input1, DType.FLOAT, "input1", 2L..2L, 4L..4L)
    val outputs = module.execute("decode", EValue.from(input0), EValue.from(input1))
    return tensor(outputs[0], DType.FLOAT, "output")
  }

  /**
   * `forward(input_0: float32[2, 4]) -> float32[2, 4]`
   * @param input0 float32[2, 4]
   */
  public fun forward(input0: Tensor): Tensor {
    checkInput(input0, DType.FLOAT, "input0", 2L..2L, 4L..4L)
    val outputs = module.execute("forward", EValue.from(input0))
    return tensor(outputs[0], DType.FLOAT, "output")
  }

  /**
   * `get_max_seq_len() -> int`
   */
  public fun getMaxSeqLen(): Long {
    val outputs = module.execute("get_max_seq_len")
    return outputs[0].toInt()
  }

  /**
   * `get_scale() -> double`
   */
  public fun getScale(): Double {
    val outputs = module.execute("get_scale")
    return outputs[0].toDouble()
  }

  /**
   * `use_kv() -> bool`
   */
  public fun useKv(): Boolean {
    val outputs = module.execute("use_kv")
    return outputs[0].toBool()
  }

  /**
   * `get_tensor() -> float32[4]`
   */
  public fun getTensor(): Tensor {
    val outputs = module.execute("get_tensor")
    return tensor(outputs[0], DType.FLOAT, "output")
  }

  /** The outputs of [getList]. */
  public class GetListOutput(
    /** int */
    public val output0: Long,
    /** int */
    public val output1: Long,
    /** int */
    public val output2: Long,
  )

  /**
   * `get_list() -> int, int, int`
   */
  public fun getList(): GetListOutput {
    val outputs = module.execute("get_list")
    return GetListOutput(
      outputs[0].toInt(),
      outputs[1].toInt(),
      outputs[2].toInt(),
    )
  }

  /** The outputs of [getTwo]. */
  public class GetTwoOutput(
    /** int */
    public val output0: Long,
    /** double */
    public val output1: Double,
  )

  /**
   * `get_two() -> int, double`
   */
  public fun getTwo(): GetTwoOutput {
    val outputs = module.execute("get_two")
    return GetTwoOutput(
      outputs[0].toInt(),
      outputs[1].toDouble(),
    )
  }

  override fun close(): Unit = module.close()

  public companion object {
    public const val FILE_NAME: String = "model.pte"
    public const val FILE_SIZE: Long = 5088L
    public const val SHA256: String = "0aa4f7e315b44f978e054caf248c8f4a16c474b184aaeeb2fdfe94a4017e4d7c"

    /** Loads the program from a file. */
    @JvmStatic
    public fun load(path: String): MultiMethod = MultiMethod(Module.load(path, Module.LOAD_MODE_MMAP))

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
