"""verl on a CPU, for tests: a platform, an engine that draws with our own, and what assumes a GPU mended.

Loaded by VERL_USE_EXTERNAL_MODULES in each of verl's processes. A harness, not a way to train: one process,
eager attention, padding kept.
"""

import os
from contextlib import nullcontext

import ray
import torch
import torch.distributed as dist
import verl.utils.model
import verl.workers.rollout.base as rollouts
from verl.plugin.platform.platform_base import PlatformBase
from verl.plugin.platform.platform_manager import PlatformRegistry
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica, RolloutReplicaRegistry, TokenOutput

SERVER = "tiny_server"


def nothing(*_args, **_kwargs):
    return None


class Module:
    """What torch.cuda answers, where there is none."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(torch.cpu, name, nothing)

    is_available = staticmethod(lambda: True)
    device_count = staticmethod(lambda: 1)
    memory_allocated = staticmethod(lambda *_: 0)
    memory_reserved = staticmethod(lambda *_: 0)
    max_memory_allocated = staticmethod(lambda *_: 0)
    max_memory_reserved = staticmethod(lambda *_: 0)
    mem_get_info = staticmethod(lambda *_: (1 << 30, 1 << 31))
    get_device_name = staticmethod(lambda *_: "cpu")


@PlatformRegistry.register(platform="cpu")
class OnCpu(PlatformBase):
    device_name = "cpu"
    vendor_name = "none"
    device_module = Module()

    is_available = staticmethod(lambda: True)
    current_device = staticmethod(lambda: "cpu")
    device_count = staticmethod(lambda: 1)
    set_device = synchronize = manual_seed_all = set_allocator_settings = empty_cache = staticmethod(nothing)
    manual_seed = staticmethod(torch.manual_seed)
    get_device_capability = staticmethod(lambda *_: (None, None))
    communication_backend_name = staticmethod(lambda: "gloo")
    visible_devices_envvar = staticmethod(lambda: "CUDA_VISIBLE_DEVICES")
    nvtx_range = staticmethod(lambda _message: nullcontext())
    profiler_start = profiler_stop = cudart = staticmethod(nothing)
    ray_resource_name = staticmethod(lambda: "GPU")
    ray_noset_envvars = staticmethod(lambda: ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"])
    is_ipc_supported = staticmethod(lambda: False)


INIT = dist.init_process_group


def init_process_group(backend=None, **kwargs):
    """`cpu:gloo,cpu:gloo` is refused."""
    return INIT(backend="gloo" if backend and "gloo" in backend else backend, **kwargs)


def value_model(local_path, torch_dtype, model_config, trust_remote_code):
    from transformers import AutoModelForTokenClassification

    return AutoModelForTokenClassification.from_pretrained(
        local_path, torch_dtype=torch_dtype, config=model_config, attn_implementation="eager"
    )


class Tiny:
    """One of verl's servers: our own engine, one reply at a time."""

    def __init__(self, path):
        from warpsmith.learn.engines.local.student import student_of

        torch.set_num_threads(1)
        self._student = student_of(path)
        self._count = 0
        self._steps = 0

    async def generate(self, request_id, prompt_ids, sampling_params, **_others):
        from warpsmith.policy.base import Sampling

        self._count += 1
        sampling = Sampling(
            temperature=sampling_params["temperature"],
            max_tokens=sampling_params["max_tokens"],
            seed=self._count,
        )
        (drawn,) = self._student.engine().generate([prompt_ids], sampling)
        return TokenOutput(
            token_ids=list(drawn.ids),
            log_probs=list(drawn.logprobs),
            stop_reason="completed",
            extra_fields={"global_steps": self._steps},
        )

    async def put(self, weights, global_steps):
        self._student.model.load_state_dict(weights, strict=False)
        self._steps = global_steps

    async def ready(self):
        return True


def idle(name):
    async def method(self, *_args, **_kwargs):
        return None

    method.__name__ = name
    return method


for verb in (
    "wake_up",
    "sleep",
    "clear_kv_cache",
    "release_kv_cache",
    "resume_kv_cache",
    "abort_all_requests",
):
    setattr(Tiny, verb, idle(verb))
for verb in ("resume_generation", "start_profile", "stop_profile"):
    setattr(Tiny, verb, idle(verb))


class Replica(RolloutReplica):
    async def launch_servers(self):
        from pathlib import Path

        path = Path(self.model_config.path)
        server = ray.remote(Tiny).options(name=f"{SERVER}_{self.replica_rank}", num_cpus=0).remote(path)
        await server.ready.remote()
        self.servers, self._server_handle, self._server_address = [server], server, "nowhere:0"


class Adapter(BaseRollout):
    """The trainer's side: hands its weights over."""

    async def resume(self, tags):
        return None

    async def release(self):
        return None

    async def update_weights(self, weights, wire_format="named_tensors", *, global_steps=None, **_others):
        server = ray.get_actor(f"{SERVER}_0")
        state = {name: tensor.detach().float().cpu().clone() for name, tensor in weights}
        await server.put.remote(state, global_steps)


def mend():
    from verl.workers.engine.base import EngineRegistry

    for backends in EngineRegistry._engines.values():
        for engines in backends.values():
            if "cuda" in engines:
                engines.setdefault("cpu", engines["cuda"])


os.environ["VERL_PLATFORM"] = "cpu"
dist.init_process_group = init_process_group
verl.utils.model.load_valuehead_model = value_model
rollouts._ROLLOUT_REGISTRY["tiny", "async"] = f"{__name__}.Adapter"
RolloutReplicaRegistry.register("tiny", lambda: Replica)
mend()
