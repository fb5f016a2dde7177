"""The rubric of rules: levels that rest on facts."""

import time

import pytest

from warpsmith.core import Candidate, KernelResources, OffShape, Provenance, Rejected, Solution, UsageError
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PLAIN + "void a() { scale_kernel<<<1, 256, 0, stream>>>(x, y, n); }", 2),
        (PLAIN + "void a() { scale_kernel<<< 1 ,256>>>(x); scale_kernel<<<n, 256>>>(x); }", 3),
        (PLAIN + "void a() { scale_kernel<<<11, 256>>>(x); }", 3),
        ("#pragma once\n" + PLAIN.replace("{", "{ #pragma unroll\n __ldg(x);"), 3),
        (PLAIN.replace("{", "{\n#pragma unroll\nfloat4 v = __ldg(x);"), 4),
        (
            PLAIN.replace(
                "{", "{ auto v = *reinterpret_cast<const Vector<float, 4>*>(x); __shfl_sync(m, v, 0);"
            ),
            4,
        ),
        (PLAIN.replace("{", "{ auto t = cg::tiled_partition<32>(b); __shared__ float s[2];"), 4),
    ],
    ids=range(7),
)
def test_engineering_is_read_off_the_text(made, text, expected):
    verdict = made.passed(coverage=made.coverage(1.0))
    assert level(scored(made, verdict, text), Dimension.ENGINEERING) == expected


def test_a_plain_kernel_at_the_floor_is_good_engineering(made):
    verdict = made.passed(coverage=made.coverage(1.0), floor_us=95.0)
    assert level(scored(made, verdict), Dimension.ENGINEERING) == 4


@pytest.mark.parametrize(("share", "expected"), [(1.0, 5), (0.8, 4), (0.5, 3), (0.2, 2), (0.01, 1)])
def test_coverage_is_the_share_of_time(made, share, expected):
    assert level(scored(made, made.passed(coverage=made.coverage(share))), Dimension.COVERAGE) == expected


def test_without_times_kernels_are_counted(made):
    """A library does products and convolutions alone: where they are only counted, they weigh more."""
    half = made.coverage(None, ("scale_kernel",), ("gemm",))
    assert level(scored(made, made.passed(coverage=half)), Dimension.COVERAGE) == 2
    most = made.coverage(None, ("scale_kernel", "a", "b"), ("gemm",))
    assert level(scored(made, made.passed(coverage=most)), Dimension.COVERAGE) == 3
    alone = made.coverage(None, ("scale_kernel",))
    assert level(scored(made, made.passed(coverage=alone)), Dimension.COVERAGE) == 5
    assert level(scored(made, made.passed()), Dimension.COVERAGE) == 3  # nothing is known


def test_who_leaves_the_work_to_the_framework_is_less_honest(made):
    assert level(scored(made, made.passed(coverage=made.coverage(0.02))), Dimension.ANTI_HACKING) == 2
    torch_text = ("model_new.py:3: `torch.sum` would compute in torch; it ran in no call but the first",)
    told = made.passed(coverage=made.coverage(1.0), advice=torch_text)
    assert level(scored(made, told), Dimension.ANTI_HACKING) == 3


def test_a_library_that_does_heavy_work_is_told_of(made):
    mixed = made.passed(coverage=made.coverage(0.7, library=("gemm",)))
    assert level(scored(made, mixed), Dimension.ANTI_HACKING) == 3


def test_nobody_is_honest_or_not_who_does_not_pass(made):
    assert level(scored(made, made.failed), Dimension.ANTI_HACKING) == 3


def test_a_refinement_is_blamed_for_what_it_hands_back_alone(made):
    half = made.passed(coverage=made.coverage(0.5, library=("gemm",)))
    all_own = made.passed(coverage=made.coverage(1.0))
    assert level(scored(made, half, before=before(made, all_own)), Dimension.ANTI_HACKING) == 2
    assert level(scored(made, half, TILED, before=before(made, half)), Dimension.ANTI_HACKING) == 5


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


def test_another_form_is_not_what_was_asked_for(made):
    candidate = Candidate.of({"model_new.py": f'SOURCE = """{PLAIN}"""\nload_inline(cuda_sources=SOURCE)\n'})
    verdict = made.passed(coverage=made.coverage(1.0))
    found = StaticRubric().scores(Work(task=made.task, candidate=candidate, verdict=verdict))
    assert "its form is" in found.why[Dimension.COMPLIANCE]
    assert level(found, Dimension.COMPLIANCE) == 3


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


def refined(made, feedback, text, *, verdict=None, was=PLAIN, **how):
    earlier = before(made, verdict or made.passed(coverage=made.coverage(1.0), **how), was)
    after = made.passed(coverage=made.coverage(1.0), **how)
    return scored(made, after, text, before=earlier, feedback=feedback)


SHUFFLES = PLAIN.replace("{", "{ float v = __shfl_sync(~0u, x[0], 0);")


@pytest.mark.parametrize(
    ("feedback", "text", "expected"),
    [
        ("Reduce by warp shuffles.", SHUFFLES, 5),
        ("Load four floats at once as float4.", SHUFFLES, 2),  # something else was changed
        ("Stage tiles in shared memory and reduce by shuffles.", SHUFFLES, 3),  # done in part
        ("error: identifier y is undefined", SHUFFLES, 5),  # names no technique
        ("Reduce by warp shuffles.", PLAIN, 1),
    ],
)
def test_a_refinement_does_what_the_feedback_names(made, feedback, text, expected):
    assert level(refined(made, feedback, text), Dimension.COMPLIANCE) == expected


def test_what_was_there_before_is_not_asked_for(made):
    found = refined(made, "Reduce by warp shuffles.", SHUFFLES + "// more\n", was=SHUFFLES)
    assert level(found, Dimension.COMPLIANCE) == 5


def test_fusion_is_seen_in_the_launches(made):
    three = before(made, made.passed(num_launches=3))
    for launches, expected in ((1, 5), (3, 2)):
        found = scored(
            made,
            made.passed(num_launches=launches),
            SHUFFLES,
            before=three,
            feedback="Fuse them into one kernel.",
        )
        assert level(found, Dimension.COMPLIANCE) == expected


def test_a_model_of_time_that_sees_no_difference_is_helped_by_what_came(made):
    modelled = {"provenance": Provenance.MODELLED}
    done = refined(made, "Reduce by warp shuffles.", SHUFFLES, **modelled)
    ignored = refined(made, "Use tensor cores.", SHUFFLES, **modelled)
    measured = refined(made, "Use tensor cores.", SHUFFLES)
    assert [level(one, Dimension.COVERAGE) for one in (done, ignored, measured)] == [4, 2, 3]


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
    scored(made, made.failed, "", before=before(made, made.passed(), text), feedback=text)
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
