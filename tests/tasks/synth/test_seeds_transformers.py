"""The modules of transformers, by the text of its files; what executes is tried in the slow tests."""

import random
from importlib.util import find_spec

import pytest

from warpsmith.tasks.file import check_format
from warpsmith.tasks.synth.seeds import CrawlConfig, Reason, Skipped, seeds
from warpsmith.tasks.synth.seeds.candidate import Candidate
from warpsmith.tasks.synth.seeds.composite import transformers_candidates
from warpsmith.tasks.synth.seeds.example import example_source

pytestmark = pytest.mark.skipif(find_spec("transformers") is None, reason="transformers is not installed")
LLAMA = "transformers.models.llama.modeling_llama"


@pytest.fixture(scope="module")
def found():
    return {
        one.name if isinstance(one, Skipped) else one.provenance.name: one
        for one in transformers_candidates(("llama", "mistral", "no_such_model", "../torch"))
    }


def test_a_module_is_given_what_it_reads_of_its_configuration(found):
    pattern = found[f"{LLAMA}.LlamaMLP"].rounds[0][0][0]
    assert pattern.init == (
        "{self}.{name} = LlamaMLP(LlamaConfig(hidden_size={hidden}, intermediate_size={inner}))",
    )
    assert pattern.imports[-1] == f"from {LLAMA} import LlamaMLP"


def test_attention_is_given_position_embeddings_and_no_dropout(found):
    pattern = found[f"{LLAMA}.LlamaAttention"].rounds[0][0][0]
    assert [slot.name for slot in pattern.slots] == ["cos", "sin"]
    assert "position_embeddings=({cos}, {sin})" in pattern.forward
    assert "attention_dropout=0.0" in pattern.init[0]
    source = example_source(pattern, found[f"{LLAMA}.LlamaAttention"].provenance)
    check_format(source, "attention")


def test_no_weights_of_odd_sizes_are_asked_for(found):
    pattern = found[f"{LLAMA}.LlamaMLP"].rounds[0][0][0]
    assert pattern.sized((2, 5, 9), random.Random(0).choice) is None
    assert pattern.sized((2, 5, 128), random.Random(0).choice) is not None


def test_a_whole_model_is_no_seed(found):
    assert found[f"{LLAMA}.LlamaForCausalLM"].reason is Reason.UNDESCRIBED


def test_the_same_text_under_another_name_counts_once(found):
    one = found["transformers.models.mistral.modeling_mistral.MistralRMSNorm"]
    assert one.reason is Reason.ALIAS
    assert one.detail.startswith(f"{LLAMA}.LlamaRMSNorm")


@pytest.mark.parametrize("family", ["no_such_model", "../torch"])
def test_a_model_that_is_not_there_is_said_to_be_so(found, family):
    assert found[f"transformers.models.{family}"].reason is Reason.UNAVAILABLE


def test_every_candidate_is_of_transformers_own_licence(found):
    candidates = [one for one in found.values() if isinstance(one, Candidate)]
    assert {one.provenance.licence for one in candidates} == {"Apache-2.0"}


@pytest.mark.slow
def test_the_modules_of_a_model_execute():
    config = CrawlConfig(libraries=("transformers",), families=("llama",), num_helpers=1)
    crawled = seeds(config, names=lambda name: name.startswith(LLAMA))
    names = {seed.provenance.name.rpartition(".")[2] for seed in crawled.seeds}
    assert names >= {
        "LlamaRMSNorm",
        "LlamaMLP",
        "LlamaAttention",
        "LlamaDecoderLayer",
        "LlamaRotaryEmbedding",
    }
    for seed in crawled.seeds:
        check_format(seed.example(), seed.provenance.name)
