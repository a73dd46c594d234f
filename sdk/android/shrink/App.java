// SPDX-License-Identifier: BSD-3-Clause
import org.pytorch.executorch.DType;
import org.pytorch.executorch.EValue;
import org.pytorch.executorch.ExecutorchRuntimeException;
import org.pytorch.executorch.Module;
import org.pytorch.executorch.Tensor;

/** An app for tests of shrinking: it uses every class and member that native code looks up by name. */
public final class App {
  public static void main(String[] args) {
    try (Module module = Module.load(args[0] + "/corpus/add/model.pte")) {
      EValue ones = EValue.from(Tensor.ones(new long[] {2, 3}, DType.FLOAT));
      EValue sum = module.forward(ones, ones)[0];
      expect(sum.toTensor().getDataAsFloatArray()[5] == 2.0f, "1 and 1 is 2");
      try {
        module.forward(ones, EValue.from("text"));
        expect(false, "a text is not a tensor");
      } catch (ExecutorchRuntimeException e) {
        expect(e.getErrorCode() == ExecutorchRuntimeException.INVALID_ARGUMENT, e.getMessage());
        expect(e.getMessage().contains("must be a Tensor, found String"), e.getMessage());
      }
    }
    try (Module module = Module.load(args[0] + "/corpus/constant_method_string/model.pte")) {
      int texts = 0;
      for (String name : module.getMethods()) {
        expect(module.getMethodMetadata(name).getName().equals(name), "metadata");
        if (name.equals("forward")) {
          continue;
        }
        for (EValue value : module.execute(name)) {
          texts += value.isString() && !value.toStr().isEmpty() ? 1 : 0;
        }
      }
      expect(texts > 0, "outputs can be texts");
    }
    try (Module module = Module.load(args[0] + "/list_outputs.pte")) {
      EValue ones = EValue.from(Tensor.ones(new long[] {2, 3}, DType.FLOAT));
      EValue[] outputs = module.forward(ones, ones);
      expect(outputs[0].toTensorList().size() == 2 && outputs[2].toIntList()[1] == -9, "outputs can be lists");
    }
    System.out.println("the shrunk app works");
  }

  private static void expect(boolean holds, String what) {
    if (!holds) {
      throw new IllegalStateException("it does not hold that " + what);
    }
  }
}
