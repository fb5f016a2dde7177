"""The whole corpus on the `cpu` device: every cheat is caught where it says, every honest program passes."""

import pytest

from warpsmith.device import select_device
from warpsmith.redteam import Bench, corpus, outcomes
from warpsmith.report.redteam import evidence
from warpsmith.sandbox import pick
from warpsmith.toolchain import Store, Toolchain

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    device, sandbox = select_device("cpu"), pick()
    toolchain = Toolchain(device=device, store=Store(tmp_path_factory.mktemp("store")), runner=sandbox)
    bench = Bench(device=device, sandbox=sandbox, toolchain=toolchain)
    return {(outcome.case.kind, outcome.case.name): outcome for outcome in outcomes(corpus(), bench)}


@pytest.mark.parametrize("case", corpus(), ids=lambda case: f"{case.kind}: {case.name}")
def test_the_verdict_is_as_expected(found, case):
    outcome = found[case.kind, case.name]
    assert outcome.is_as_expected, evidence(outcome)
