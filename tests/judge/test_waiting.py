"""Which programs are taken to wait for the GPU themselves."""

import pytest

from warpsmith.core import Candidate
from warpsmith.judge.clock.waiting import waits_itself


@pytest.mark.parametrize(
    "text",
    [
        "torch.cuda.synchronize()",
        "stream.synchronize()",
        "cudaStreamSynchronize(stream);",
        "cudaEventSynchronize(done);",
        "cudaMemcpy(a, b, n, cudaMemcpyDeviceToHost);",
        "n = count.item()",
    ],
)
def test_what_waits_is_seen_in_any_file(text):
    assert waits_itself(Candidate.of({"model_new.py": "", "kernels/one.cu": text}))


@pytest.mark.parametrize(
    "text", ["__syncthreads();", "cudaMemcpyAsync(a, b, n, kind, s);", "grid.sync();", "self.items"]
)
def test_what_only_orders_work_does_not_wait(text):
    assert not waits_itself(Candidate.of({"model_new.py": "", "kernels/one.cu": text}))
