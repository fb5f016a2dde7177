"""Whatever is typed or lies on the disk: one line that says what to do, the right code, no traceback."""

import pytest

from warpsmith.cli.numbers import inputs_of, price_of, scale_of
from warpsmith.cli.writers import Prices
from warpsmith.core import UsageError

CPU = ("--device", "cpu", "--sandbox", "process")
MODEL = ("--model", "scripted:script.json")


@pytest.fixture
def place(tmp_path, task, program):
    """A folder with a bit of everything."""
    (tmp_path / "script.json").write_text("[]")
    (tmp_path / "binary.py").write_bytes(bytes(range(256)) * 8)
    (tmp_path / "empty.py").touch()
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "no_model.py").write_text("x = 1\n")
    (tmp_path / "syntax.py").write_text("class Model(:\n")
    (tmp_path / "loop.py").symlink_to(tmp_path / "loop.py")
    (tmp_path / "binary_program").mkdir()
    (tmp_path / "binary_program" / "model_new.py").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "file").touch()
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "optimize missing.py",
        "optimize binary.py",
        "optimize empty.py",
        "optimize folder.py",
        "optimize no_model.py",
        "optimize syntax.py",
        "optimize loop.py",
        "optimize no.such.module:Thing --inputs f32[2]",
        "optimize torch.nn:GELU",
        "optimize torch.nn:GELU --inputs f99[2]",
        "optimize task.py --scale nonsense",
        "optimize task.py --scale 1/0",
        "optimize task.py --scale -1",
        "optimize task.py --scale inf",
        "optimize task.py --inputs f32[2]",
        "optimize task.py --device tpu",
        "optimize task.py --gpu voodoo2",
        "optimize task.py --sandbox wish",
        "optimize task.py --model oracle",
        "optimize task.py --model openai:",
        "optimize task.py --model scripted:missing.json",
        "optimize task.py --max-turns 0",
        "optimize task.py --max-turns many",
        "optimize task.py --max-usd -1",
        "optimize task.py --model openai:model --max-usd 2",
        "optimize task.py --price 2.5",
        "optimize task.py --price 2/-1",
        "optimize task.py --price inf/1",
        "optimize task.py --price free/1",
        "optimize",
        "optimize a b",
        "optimize --frobnicate",
        "verify task.py",
        "verify task.py missing",
        "verify task.py file",
        "verify task.py binary_program",
        "verify missing.py program",
        "build missing",
        "build binary_program",
        "runs show missing",
        "runs show file",
        "runs show program",
        "runs list missing",
        "runs list file",
        "runs frob",
        "frob",
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_mistake_is_usage(cli, place, line, form):
    words = line.split()
    if words[0] == "optimize" and len(words) > 1 and "--model" not in words:
        words += MODEL
    if words[0] in ("optimize", "verify", "build") and "--device" not in words:
        words += CPU[:2]
    printed = cli(*words, *(["--json"] if form == "json" else []))
    assert printed.code == 2, printed.err
    assert len(printed.err.splitlines()) == 1
    assert printed.err.startswith("warpsmith: ")
    assert "Traceback" not in printed.err
    if form == "json":
        assert printed.document["exit_code"] == 2
    else:
        assert printed.out == ""


def test_a_folder_in_place_of_the_runs_parent_is_the_machine_s(cli, place, task, episode, passed):
    episode(passed())
    printed = cli("optimize", task, "--out", place / "file" / "run", *MODEL, *CPU)
    assert printed.code == 6
    assert len(printed.err.splitlines()) <= 3
    assert "Traceback" not in printed.err


def test_names_in_any_script_are_fine(cli, place, judge, passed, task):
    folder = place / "プログラム é [red]"
    (place / "program").rename(folder)
    judge(passed())
    assert cli("verify", task, folder, *CPU).code == 0


@pytest.mark.parametrize(
    ("text", "value"), [(None, None), ("1/64", 1 / 64), ("0.25", 0.25), (" 2 ", 2.0), ("1e-2", 0.01)]
)
def test_a_scale_is_a_number_or_a_fraction(text, value):
    assert scale_of(text) == value


@pytest.mark.parametrize("text", ["", "a", "1/0", "1/2/3", "nan", "0x10", "9" * 5000])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(UsageError, match="1/64"):
        scale_of(text)


def test_inputs_may_share_an_option():
    assert inputs_of(["f32[64, 1024] i64[64]:0..10", "bool[2]", "nonsense"]) == (
        "f32[64, 1024]",
        "i64[64]:0..10",
        "bool[2]",
        "nonsense",
    )


def test_a_price_is_for_prompt_and_completion():
    assert price_of("2.5/10") == (2.5, 10.0)
    assert price_of("0/0") == (0, 0)


def test_a_price_may_be_one_model_s_alone():
    models = ("openai:large", "openai:small", "openai:other")
    prices = Prices.of_models(("1/2", "openai:large=3/4", "small=5/6"), models)
    assert prices.of("openai:large") == (3.0, 4.0)
    assert prices.of("openai:small") == (5.0, 6.0)
    assert prices.of("openai:other") == (1.0, 2.0)
    assert Prices().of("openai:other") is None


def test_a_price_of_a_model_that_nobody_asks_is_a_mistake():
    with pytest.raises(UsageError, match="--price names"):
        Prices.of_models(("openai:larg=3/4",), ("openai:large",))
