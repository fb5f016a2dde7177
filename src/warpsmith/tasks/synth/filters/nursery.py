"""`python -m warpsmith.tasks.synth.filters.nursery`: what a helper imports, imported once, to fork it from.

The compiler is among it, whose import alone takes seconds. As in the judge's nursery no CUDA is initialised
here, and no pool of threads runs.
"""

import gc
import os

from warpsmith.sandbox.warden import serve
from warpsmith.tasks.synth.filters.config import COMPILER_SETTINGS


def main() -> None:
    # Else asking whether there is a GPU, as some modules do when imported, would spoil every fork for it.
    os.environ |= COMPILER_SETTINGS
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    import torch

    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    import torch._dynamo
    import torch._inductor.compile_fx

    import warpsmith.tasks.synth.filters.examination  # noqa: F401

    # The first compilation imports and sets up much more than the import of the compiler does.
    torch.compile(torch.nn.ReLU(), backend="aot_eager")(torch.ones(2))
    torch._dynamo.reset()
    gc.collect()
    gc.freeze()  # a collection in a fork then writes to no page that all of them share

    def awaken() -> None:
        if torch.cuda._is_in_bad_fork():
            raise OSError("an import has touched CUDA; no fork can use it")
        torch.set_num_threads(num_threads)

    serve(awaken)


if __name__ == "__main__":
    main()
