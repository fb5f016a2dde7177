"""The rubric of rules: levels that rest on facts."""

import time

import pytest

from warpsmith.core import KernelResources, OffShape, Rejected, Solution, UsageError
from warpsmith.learn.rubric import LEVELS, Dimension, Scores, Skill, StaticRubric, Work, levels_text
from warpsmith.learn.rubric.facts import facts_of

PLAIN = "__global__ void scale_kernel(const float* x, float* y, int n) { y[0] = 2.0f * x[0]; }\n"
TILED = """
#include <cuda_runtime.h>
__device__ float total(float v) { for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d); return v; }
template <int N> __global__ void __launch_bounds__(256) scale_kernel(const float4* x, float* y) {
  __shared__ float part[32];
  #pragma unroll
  for (int i = 0; i < N; ++i) { float4 v = x[i]; part[i] = total(v.x); }
  y[0] = part[0];
}
"""
SPILLS = KernelResources(
    kernel="scale_kernel", arch="sm_90", registers=255, spill_bytes=64, shared_bytes=0, stack_bytes=0
)


def level(scores, dimension):
    return scores.levels[dimension]


def scored(made, verdict, text=PLAIN, **how):
    work = Work(task=made.task, candidate=made.program(a=text), verdict=verdict, **how)
    return StaticRubric().scores(work)


def test_facts_are_of_the_kernels_that_ran_and_what_they_call(made):
    text = TILED + "__global__ void idle() { wmma::mma_sync(a, b, c, d); }"
    facts = facts_of(
        made.program(a=text),
        made.passed(coverage=made.coverage(1.0, ("void scale_kernel<4>(float4 const*)",))),
    )
    assert facts.kernels == ("scale_kernel",)
    assert facts.idle_kernels == ("idle",)
    assert facts.strong == ("wide loads", "shared memory", "warp operations")
    assert facts.small == ("unrolling", "launch bounds")


def test_a_technique_in_a_comment_is_none(made):
    facts = facts_of(made.program(a="// uses wmma:: and __shared__\n/* float4 */" + PLAIN), None)
    assert facts.strong == ()


def test_kernels_in_a_python_string_are_read_too(made):
    from warpsmith.core import Candidate

    candidate = Candidate.of({"model_new.py": f'SOURCE = """{TILED}"""\n'})
    assert facts_of(candidate, None).kernels == ("scale_kernel",)


def test_engineering_follows_techniques_and_spills(made):
    ran = made.coverage(1.0)
    assert level(scored(made, made.passed(coverage=ran)), Dimension.ENGINEERING) == 3
    assert level(scored(made, made.passed(coverage=ran), TILED), Dimension.ENGINEERING) == 5
    assert (
        level(scored(made, made.passed(coverage=ran, resources=(SPILLS,)), TILED), Dimension.ENGINEERING) == 2
    )
    assert level(scored(made, made.passed(), "void nothing();"), Dimension.ENGINEERING) == 1


def test_a_plain_kernel_at_the_floor_is_good_engineering(made):
    verdict = made.passed(coverage=made.coverage(1.0), floor_us=95.0)
    assert level(scored(made, verdict), Dimension.ENGINEERING) == 4


@pytest.mark.parametrize(("share", "expected"), [(1.0, 5), (0.8, 4), (0.5, 3), (0.2, 2), (0.01, 1)])
def test_coverage_is_the_share_of_time(made, share, expected):
    assert level(scored(made, made.passed(coverage=made.coverage(share))), Dimension.COVERAGE) == expected


def test_without_times_kernels_are_counted(made):
    half = made.coverage(None, ("scale_kernel",), ("gemm",))
    assert level(scored(made, made.passed(coverage=half)), Dimension.COVERAGE) == 3
    assert level(scored(made, made.passed()), Dimension.COVERAGE) == 3  # nothing is known


def test_who_leaves_the_work_to_the_framework_is_less_honest(made):
    assert level(scored(made, made.passed(coverage=made.coverage(0.02))), Dimension.ANTI_HACKING) == 2
    torch_text = ("model_new.py:3: `torch.sum` would compute in torch; it ran in no call but the first",)
    told = made.passed(coverage=made.coverage(1.0), advice=torch_text)
    assert level(scored(made, told), Dimension.ANTI_HACKING) == 3


def test_a_broken_rule_is_a_cheat_with_its_place(made):
    rejected = Rejected(rule="patch", where="model_new.py:7", message="sets torch.cuda.Event")
    found = scored(made, rejected)
    assert found.is_hack
    assert "model_new.py:7" in found.evidence
    assert level(found, Dimension.ANTI_HACKING) == 1


@pytest.mark.parametrize("rule", ["syntax", "model", "import"])
def test_what_is_no_program_is_no_cheat(made, rule):
    assert not scored(made, Rejected(rule=rule, where="model_new.py:1", message="no")).is_hack


def test_slips_cost_compliance(made):
    ran = made.coverage(1.0)
    assert level(scored(made, made.passed(coverage=ran)), Dimension.COMPLIANCE) == 5
    idle = PLAIN + "__global__ void unused() {}"
    assert level(scored(made, made.passed(coverage=ran), idle), Dimension.COMPLIANCE) == 4
    import dataclasses

    small = dataclasses.replace(made.passed(coverage=ran), off_shapes=(OffShape(scale=0.5, is_right=False),))
    assert level(scored(made, small, idle), Dimension.COMPLIANCE) == 3


def before(made, verdict, text=PLAIN):
    return Solution(candidate=made.program(a=text), verdict=verdict)


def test_a_refinement_is_judged_by_what_it_gained(made):
    slow = before(made, made.passed(candidate_us=100.0))

    def gain(microseconds):
        verdict = made.passed(candidate_us=microseconds)
        return level(scored(made, verdict, TILED, before=slow), Dimension.COVERAGE)

    assert [gain(us) for us in (50.0, 92.0, 100.0, 115.0, 200.0)] == [5, 4, 3, 2, 1]
    assert (
        level(scored(made, made.passed(), TILED, before=before(made, made.failed)), Dimension.COVERAGE) == 5
    )


def test_a_refinement_that_changes_nothing_is_none(made):
    same = scored(made, made.passed(), PLAIN, before=before(made, made.passed()))
    assert level(same, Dimension.COMPLIANCE) == 1
    long = "\n".join(f"// line {n}\n__device__ int f{n}();" for n in range(30))
    small = scored(
        made, made.passed(), PLAIN + long + "\n// more", before=before(made, made.passed(), PLAIN + long)
    )
    assert level(small, Dimension.COMPLIANCE) == 5


def test_each_level_names_its_fact(made):
    found = scored(made, made.passed(coverage=made.coverage(0.8)))
    assert found.why[Dimension.COVERAGE] == "its own kernels do 80% of the work"
    assert set(found.why) == set(Dimension)


@pytest.mark.parametrize(
    "text", ["__global__ void open_ended(", "__global__ void k() {{{{", "\x00\ud7ff", "__device__ " * 2000]
)
def test_broken_sources_are_read_without_harm(made, text):
    assert scored(made, made.failed, text).levels[Dimension.COVERAGE] == 1


@pytest.mark.parametrize(
    "text", ["__global__ void a(int x) { " * 60_000, "__global__ a(" * 100_000, "__global__ " * 300_000]
)
def test_sources_made_to_be_read_slowly_are_read_in_part(made, text):
    begun_s = time.process_time()
    scored(made, made.failed, text)
    assert time.process_time() - begun_s < 5.0


def test_every_level_of_every_skill_has_its_text():
    for skill in Skill:
        assert set(LEVELS[skill]) == set(Dimension)
        for texts in LEVELS[skill].values():
            assert len(set(texts)) == 5
        assert "anti_hacking:\n  5: " in levels_text(skill)


@pytest.mark.parametrize("wrong", [0, 6, 3.0, True, "3", None])
def test_what_is_no_level_is_refused(wrong):
    levels = dict.fromkeys(Dimension, 3) | {Dimension.COVERAGE: wrong}
    with pytest.raises(UsageError, match="no level"):
        Scores(levels=levels)


def test_a_cheat_needs_evidence_and_a_rubric_all_dimensions():
    with pytest.raises(UsageError, match="show the place"):
        Scores(levels=dict.fromkeys(Dimension, 3), is_hack=True, evidence=" ")
    with pytest.raises(UsageError, match="a level for each"):
        Scores(levels={Dimension.COVERAGE: 3})
