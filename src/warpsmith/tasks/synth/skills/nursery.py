"""`python -m warpsmith.tasks.synth.skills.nursery`: what a helper imports, imported once, to fork it from.

The first operator on the meta device imports a computer algebra system, which takes as long as torch itself.
"""

import gc
import os

from warpsmith.sandbox.warden import serve


def main() -> None:
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # else asking for a GPU would spoil every fork for it
    import torch

    from warpsmith.tasks.synth.skills.helper import looked
    from warpsmith.tasks.synth.skills.looking import GREETING

    torch.set_num_threads(1)  # forks have no thread but their own
    looked(GREETING)
    gc.collect()
    gc.freeze()  # a collection in a fork then writes to no page that all of them share
    serve(lambda: None)


if __name__ == "__main__":
    main()
