"""What can be wrong with a model's folder."""

import json
import shutil
from importlib import util

import pytest

from warpsmith.core import EnvironmentMissing, UsageError
from warpsmith.policy import make_policy
from warpsmith.policy.local.checkpoint import GGUF_PACKAGES, load, located


def changed(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="does not exist; write local:DIR"):
        make_policy(f"local:{tmp_path / 'none'}")


@pytest.mark.parametrize("path", ["a\0b", "~nobody-of-this-name/model", "x" * 5000])
def test_what_is_no_path_at_all(path):
    with pytest.raises(UsageError):
        load(path)


def test_a_file_that_is_no_model(tmp_path):
    (tmp_path / "model.bin").write_text("x")
    with pytest.raises(UsageError, match=r"neither a folder nor a .gguf file"):
        load(str(tmp_path / "model.bin"))


def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(UsageError, match=r"holds neither config.json, adapter_config.json nor a .gguf file"):
        load(str(tmp_path))


def test_a_gguf_file_is_found_by_its_folder_or_its_name(tmp_path):
    (tmp_path / "a.gguf").write_bytes(b"")
    assert located(str(tmp_path)) == located(str(tmp_path / "a.gguf")) == (tmp_path, "a.gguf")


needs_gguf = pytest.mark.skipif(
    not all(map(util.find_spec, GGUF_PACKAGES)), reason="needs pip install 'warpsmith[local]'"
)


def test_several_gguf_files_are_named(tmp_path):
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(UsageError, match=r"with one of a.gguf, b.gguf"):
        load(str(tmp_path))


@needs_gguf
@pytest.mark.parametrize("content", [b"", b"GGUF", b"GGUF\x03\x00\x00\x00" + b"\xff" * 64, b"no model" * 100])
def test_a_broken_gguf_file(tmp_path, content):
    (tmp_path / "a.gguf").write_bytes(content)
    with pytest.raises(UsageError, match="cannot be read"):
        load(str(tmp_path))


def test_a_folder_without_a_tokenizer(write):
    folder = write()
    (folder / "tokenizer.json").unlink()
    with pytest.raises(UsageError, match="has no tokenizer"):
        load(str(folder))


@pytest.mark.parametrize("text", ["", "{}", '{"model": 7}', "\x00\x01"])
def test_a_broken_tokenizer(write, text):
    folder = write()
    (folder / "tokenizer.json").write_text(text)
    with pytest.raises(UsageError, match="tokenizer cannot be read"):
        load(str(folder))


def test_a_tokenizer_without_a_chat_template(write):
    with pytest.raises(UsageError, match="no chat template"):
        load(str(write(template=None)))


@pytest.mark.parametrize(
    "template", ["{% for %}", "{{ messages[7].content }}", "{{ raise_exception('no') }}"]
)
def test_a_chat_template_that_does_not_work(write, template):
    with pytest.raises(UsageError, match="chat template refuses"):
        load(str(write(template=template)))


def test_a_tokenizer_of_another_model(write):
    with pytest.raises(UsageError, match=r"tokenizer has ids up to .* belong together"):
        load(str(write(missing_rows=5)))


@pytest.mark.parametrize("keep_bytes", [0, 4, 1000])
def test_weights_that_break_off(write, keep_bytes):
    folder = write()
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:keep_bytes])
    with pytest.raises(UsageError, match="weights cannot be read"):
        load(str(folder))


def test_weights_that_are_not_there(write):
    folder = write()
    (folder / "model.safetensors").unlink()
    with pytest.raises(UsageError, match="weights cannot be read"):
        load(str(folder))


@pytest.mark.parametrize("changes", [{"num_hidden_layers": 3}, {"intermediate_size": 128}])
def test_weights_of_another_shape_are_not_filled_up_by_chance(write, changes):
    folder = write()
    config = json.loads((folder / "config.json").read_text()) | changes
    config.pop("layer_types", None)
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(UsageError, match=r"lacks \d+ weights|weights cannot be read"):
        load(str(folder))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"model_type": "unheard-of"}', '{"model_type": "bert"}'])
def test_a_config_that_says_nothing_usable(write, text):
    folder = write()
    (folder / "config.json").write_text(text)
    with pytest.raises(UsageError):
        load(str(folder))


def test_code_in_the_folder_is_not_run(write, tmp_path):
    folder = write()
    mark = tmp_path / "ran"
    (folder / "evil.py").write_text(f"open({str(mark)!r}, 'w')\nclass Config: pass\n")
    changed(
        folder / "config.json",
        model_type="evil",
        auto_map={"AutoConfig": "evil.Config", "AutoModelForCausalLM": "evil.Config"},
    )
    with pytest.raises(UsageError):
        load(str(folder))
    assert not mark.exists()


def test_the_extra_is_named_if_it_is_missing(checkpoint, monkeypatch):
    monkeypatch.setattr("warpsmith.policy.local.checkpoint.find_spec", lambda _: None)
    with pytest.raises(EnvironmentMissing, match=r"pip install 'warpsmith\[local\]'"):
        load(str(checkpoint))
    assert util.find_spec("transformers")


def test_the_chats_end_and_the_models_own_end_both_stop(checkpoint):
    model = load(str(checkpoint))
    assert model.stop_ids == {0, 2}


def test_a_model_is_forgotten_when_nobody_holds_it(write):
    folder = write()
    load(str(folder))
    shutil.rmtree(folder)
    with pytest.raises(UsageError):
        load(str(folder))
