"""What a task takes of a GPU is told from its text, and decides who works beside whom."""

from dataclasses import replace

import pytest

from warpsmith.bench.crew import Crew, Worker
from warpsmith.bench.folder import held
from warpsmith.bench.footprint import FEWEST_INPUTS, HELD_SHARE, fitted, input_bytes
from warpsmith.bench.run import jobs_of
from warpsmith.bench.schedule import Schedule
from warpsmith.judge import JudgeConfig

GPU_BYTES = 139 << 30


@pytest.mark.parametrize(
    ("text", "num_bytes"),
    [
        ("batch, dim = 4096, 2 * 8\ndef get_inputs():\n    return [torch.rand(batch, dim)]", 4096 * 16 * 4),
        ("shape = (8, 16)\ndef get_inputs():\n    return [torch.randn(4, *shape)]", 4 * 8 * 16 * 4),
        ("n = 8\ndef get_inputs():\n    m = n // 2\n    x = torch.rand((n, m))\n    return [x]", 8 * 4 * 4),
        ("def get_inputs():\n    return [torch.rand(8), torch.randint(0, 3, (8,))]", 8 * 4 + 8 * 8),
        ("def get_inputs():\n    return [torch.rand(8, 2, dtype=torch.float16)]", 8 * 2 * 2),
        ("def get_inputs():\n    return [torch.zeros(size=(3, 5))]", 60),
        ("def get_inputs():\n    return [torch.rand(n), torch.rand(2)]", 8),
        ("def get_inputs():\n    return [torch.rand(2 - 4, 5)]", 0),
        ("def get_inputs():\n    return [torch.rand(1 // 0, 10 ** 99)]", 0),
        ("def get_inputs():\n    return [torch.rand()]", 0),
        ("a = b = 3\na = a * a\ndef get_inputs():\n    return [torch.rand(a)]", 36),
        ("n = 2 * " + "9" * 400 + "\ndef get_inputs():\n    return [torch.rand(n)]", 0),
        ("def get_init_inputs():\n    return [torch.rand(8)]", 0),
        ("def get_inputs(:", 0),
        ("def get_inputs():\n    return [" + "(" * 3000, 0),
    ],
)
def test_sizes_are_read_and_nothing_is_executed(text, num_bytes):
    assert input_bytes(text) == num_bytes


def task(num_floats):
    return f"def get_inputs():\n    return [torch.rand({num_floats})]"


def test_a_small_task_is_judged_as_was_asked():
    judge = JudgeConfig(lend_share=1 / 6)
    assert fitted(judge, task(1000), GPU_BYTES).judge == judge


def test_a_large_task_is_lent_three_input_sets_and_two_answers():
    found = fitted(JudgeConfig(lend_share=1 / 6), task(10**9), GPU_BYTES)
    assert found.judge.lend_share * GPU_BYTES >= 5 * 4 * 10**9


def test_a_task_whose_input_sets_do_not_fit_is_judged_on_fewer():
    counts = [fitted(JudgeConfig(), task(k * 10**8), GPU_BYTES).judge.num_inputs for k in range(1, 60)]
    assert counts[0] == JudgeConfig().num_inputs
    assert counts[-1] == FEWEST_INPUTS
    assert counts == sorted(counts, reverse=True)
    few = replace(JudgeConfig(), num_inputs=2)
    assert fitted(few, task(10**10), GPU_BYTES).judge.num_inputs == 2


@pytest.fixture
def schedule(order, watched):
    """Jobs of these predicted bytes, three workers, and a crew that only writes down what it is given."""

    class Fake(Crew):
        def _started(self):
            worker = Worker(number=len(self.workers) + 1, process=None)
            self.workers.append(worker)
            return worker

        def give(self, worker, job):
            worker.job = job

        def dismiss(self, limit_s=0.0):
            self.workers.clear()

    def make(sizes, places=({},)):
        asked = order({1: ["passes 50"] * len(sizes)})
        with held(asked.path, asked.plan) as folder:
            jobs = [
                replace(job, memory_bytes=size)
                for job, size in zip(jobs_of(asked, folder), sizes, strict=True)
            ]
            crew = Fake(folder=folder, size=3, places=places, room_bytes=100)
            seen = watched()
            return Schedule(jobs, folder, crew, seen), crew, seen

    return make


@pytest.mark.parametrize(
    ("sizes", "begun"),
    [
        ([30, 30, 30, 30], [1, 2, 3]),
        ([60, 60, 30], [1, 3]),
        ([300, 10, 10], [1]),
        ([10, 300, 10, 10], [1, 3, 4]),
        ([0, 0, 0], [1, 2, 3]),
    ],
)
def test_tasks_that_fit_together_are_worked_on_together(schedule, sizes, begun):
    made, _, seen = schedule(sizes)
    made._hand_out()
    assert seen.begun == [f"level1-{problem:03d}" for problem in begun]


def test_each_gpu_has_its_own_room(schedule):
    made, _, seen = schedule([80, 80, 80], places=({"GPU": "a"}, {"GPU": "b"}))
    made._hand_out()
    assert len(seen.begun) == 2


def test_a_task_larger_than_the_room_is_done_once_it_is_alone(schedule):
    made, crew, seen = schedule([10, 300])
    made._hand_out()
    assert seen.begun == ["level1-001"]
    crew.workers[0].job = None
    made._hand_out()
    assert seen.begun == ["level1-001", "level1-002"]


@pytest.mark.parametrize(
    ("reason", "num_inputs"),
    [("CUDA out of memory. Tried to allocate 6.00 GiB", FEWEST_INPUTS), ("the driver is gone", 5)],
)
def test_what_ran_out_of_memory_is_tried_again_on_fewer_input_sets(schedule, reason, num_inputs):
    made, crew, _ = schedule([10])
    made._hand_out()
    (worker,) = crew.workers
    job, worker.job = worker.job, None
    made._failed(worker, job, reason)
    made._hand_out()
    assert worker.job.spec.judge.num_inputs == num_inputs
    assert worker.job.num_tries == 2


def test_a_bench_on_a_gpu_fits_each_job(order):
    asked = replace(order({1: ["passes 50"]}), memory_bytes=GPU_BYTES)
    with held(asked.path, asked.plan) as folder:
        (job,) = jobs_of(asked, folder)
    assert 0 < job.memory_bytes < HELD_SHARE * GPU_BYTES / 3  # three small ones go side by side
