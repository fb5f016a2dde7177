"""`python -m warpsmith.judge.nursery`: what both helper programs import, imported once, to fork them from.

No CUDA is initialised here, for it does not survive a fork; and no thread pool runs, for the forks would wait
for threads that they don't have.
"""

import gc
import importlib

from warpsmith.sandbox.warden import serve

PROGRAMS = ("guest", "oracle")


def main() -> None:
    import torch

    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    for program in PROGRAMS:
        importlib.import_module(f"warpsmith.judge.{program}.session")
    gc.collect()
    gc.freeze()  # a collection in a fork then writes to no page that all of them share

    def awaken() -> None:
        # Also after an import that merely asked whether there is a GPU.
        if torch.cuda._is_in_bad_fork():
            raise OSError("an import has touched CUDA; no fork can use it")
        torch.set_num_threads(num_threads)

    serve(awaken)


if __name__ == "__main__":
    main()
