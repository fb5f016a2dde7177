from dataclasses import replace

import pytest

from warpsmith.core import Provenance, Ratio, Series, Speed, Timing


@pytest.mark.parametrize(
    ("low", "high", "speed"),
    [
        (1.01, 1.2, Speed.FASTER),
        (0.99, 1.2, Speed.CANNOT_TELL),
        (0.8, 0.99, Speed.SLOWER),
        (1.0, 1.0, Speed.CANNOT_TELL),
    ],
)
def test_faster_means_that_the_whole_interval_is_above_one(low, high, speed):
    assert Ratio(centre=(low + high) / 2, low=low, high=high).speed() is speed


@pytest.mark.parametrize(
    ("provenance", "eager", "compiled", "is_fast"),
    [
        (Provenance.MEASURED, 2.0, 1.1, True),
        (Provenance.MEASURED, 2.0, 1.0, False),
        (Provenance.MODELLED, 2.0, 1.0, True),
        (Provenance.MODELLED, 2.0, 0.9, False),
        (Provenance.MODELLED, 1.0, 1.0, False),
    ],
)
def test_a_model_cannot_show_more_than_perfect_fusion(provenance, eager, compiled, is_fast):
    timing = Timing(
        provenance=provenance,
        gpu="H200",
        candidate=Series(name="candidate", samples_us=(1.0,)),
        eager=Series(name="eager", samples_us=(eager,)),
        compile=Series(name="compile", samples_us=(compiled,)),
        against_eager=Ratio(centre=eager, low=eager, high=eager),
        against_compile=Ratio(centre=compiled, low=compiled, high=compiled),
        floor_us=1.0,
    )
    assert timing.is_fast is is_fast


def test_the_best_baseline_is_the_one_that_is_harder_to_beat():
    def timing(eager, compiled):
        return Timing(
            provenance=Provenance.MEASURED,
            gpu="H200",
            candidate=Series(name="candidate", samples_us=(4.0, 1.0, 2.0, 3.0)),
            eager=Series(name="eager", samples_us=(1.0,)),
            compile=None,
            against_eager=Ratio(centre=eager, low=eager, high=eager),
            against_compile=None if compiled is None else Ratio(centre=compiled, low=compiled, high=compiled),
            floor_us=1.25,
        )

    assert timing(3.0, 1.5).best_baseline.centre == 1.5
    assert timing(1.2, 1.5).best_baseline.centre == 1.2
    assert timing(1.2, None).best_baseline.centre == 1.2
    assert timing(1.2, None).times_floor == 2.0


def test_nothing_is_said_of_a_speed_that_did_not_settle_or_lies_within_the_null_control():
    ratio = Ratio(centre=1.3, low=1.2, high=1.4)
    timing = Timing(
        provenance=Provenance.MEASURED,
        gpu="H200",
        candidate=Series(name="candidate", samples_us=(1.0,)),
        eager=Series(name="eager", samples_us=(1.3,)),
        compile=None,
        against_eager=ratio,
        against_compile=None,
        floor_us=1.0,
        null=Ratio(centre=1.0, low=0.9, high=1.1),
    )
    assert timing.speed is Speed.FASTER
    assert timing.is_fast
    wide = replace(timing, null=Ratio(centre=1.0, low=0.75, high=1.1))
    assert wide.smallest_effect == 0.25
    assert wide.speed is Speed.CANNOT_TELL
    shaky = replace(timing, trouble="too hot")
    assert shaky.speed is Speed.CANNOT_TELL
    assert not shaky.is_fast
