"""Calls for the modules of transformers, from what their text tells."""

from collections.abc import Iterator
from dataclasses import replace

from warpsmith.tasks.synth.base import Domain, Kind, Provenance
from warpsmith.tasks.synth.seeds.candidate import Candidate, Round
from warpsmith.tasks.synth.seeds.outcome import Reason, Skipped
from warpsmith.tasks.synth.seeds.pattern import Draw, Pattern, Slot
from warpsmith.tasks.synth.seeds.sizes import HOLE, names_in, split
from warpsmith.tasks.synth.seeds.spoken import (
    BESIDE,
    CONFIG,
    CONSTRUCTOR,
    DRAWS,
    DROPS,
    FILLED,
    FLOATS,
    FROM_INNER,
    NOTHING,
    OF_IMAGES,
    SHAPES,
)
from warpsmith.tasks.synth.seeds.texts import ModuleText, has_family, module_texts, release


def transformers_candidates(families: tuple[str, ...]) -> Iterator[Candidate | Skipped]:
    """A candidate or the reason against it for each module of these models; nothing is imported.

    Raises EnvironmentMissing if transformers is not installed.
    """
    version = release()
    for family in families:
        if not has_family(family):
            name = f"transformers.models.{family}"
            yield Skipped(name=name, reason=Reason.UNAVAILABLE, detail=f"not in transformers {version}")
    known: dict[str, str] = {}
    for text in module_texts(tuple(family for family in families if has_family(family))):
        name = f"{text.module}.{text.name}"
        if any("PreTrainedModel" in base or "Mixin" in base for base in text.bases):
            yield Skipped(name=name, reason=Reason.UNDESCRIBED, detail="a whole model")
        elif text.shape in known:
            yield Skipped(name=name, reason=Reason.ALIAS, detail=f"{known[text.shape]}, by its text")
        else:
            known[text.shape] = name
            provenance = Provenance(library="transformers", version=version, licence="Apache-2.0", name=name)
            yield _candidate(text, provenance)


def _candidate(text: ModuleText, provenance: Provenance) -> Candidate | Skipped:
    missing = [
        one.name for one in text.init if one.is_required and not _is_known_to_constructor(one.name, text)
    ]
    if missing:
        return Skipped(
            name=provenance.name, reason=Reason.UNDESCRIBED, detail=f"constructor: {', '.join(missing)}"
        )
    missing = [
        one.name
        for one in text.forward[1:]
        if one.is_required and one.name not in BESIDE and not NOTHING.fullmatch(one.name)
    ]
    calls = list(_calls(text))
    if missing or not calls:
        names = missing or [one.name for one in text.forward[:1]]
        return Skipped(name=provenance.name, reason=Reason.UNDESCRIBED, detail=f"forward: {', '.join(names)}")
    rounds = tuple(
        _round(text, call, arguments)
        for is_frugal in (True, False)
        for call in calls
        for arguments in _constructors(text, call, is_frugal=is_frugal)
    )
    return Candidate(provenance=provenance, rounds=rounds, kind=_kind(text), must_trace=False)


def _is_known_to_constructor(name: str, text: ModuleText) -> bool:
    return text.config is not None if name == "config" else name in CONSTRUCTOR


def _constructors(text: ModuleText, call: Pattern, *, is_frugal: bool) -> Iterator[str]:
    """Arguments of the constructor: a configuration with what it reads, or else with all that we know of."""
    given = [one.name for one in text.init if one.is_required or one.name == "layer_idx"]
    others = [f"{name}={CONSTRUCTOR[name]}" for name in given if name != "config"]
    if text.config is None:
        if is_frugal:
            yield ", ".join(others)
        return
    fields = text.config.fields & text.reads if is_frugal else text.config.fields
    known = {name: CONFIG[name] for name in sorted(fields) if name in CONFIG}
    if "side" not in call.x.shape:
        known = {name: value for name, value in known.items() if name not in OF_IMAGES}
    known |= {name: "0.0" for name in sorted(fields & text.reads) if DROPS.fullmatch(name)}
    known |= {"attn_implementation": "'eager'"} if "_attn_implementation" in text.reads else {}
    config = ", ".join(f"{name}={value}" for name, value in known.items())
    if is_frugal or fields != text.config.fields & text.reads:
        yield ", ".join((f"{text.config.name}({config})", *others))


def _calls(text: ModuleText) -> Iterator[Pattern]:
    """Ways to call forward, its constructor still open."""
    if not text.forward:
        return
    first, *others = text.forward
    names = [first.name, *(one.name for one in others)]
    if names[:2] in (["x", "position_ids"], ["hidden_states", "position_ids"]):
        ids = Slot(name="x", shape="batch length", domain=Domain.INDEX, bound="length")
        # The first argument only says which type the answer is of.
        yield Pattern(x=ids, forward="torch.cat({self}.{name}({x}.float(), {x}), dim=-1)")
        return
    optional = [one.name for one in others if one.name == "position_embeddings" and not one.is_required]
    required = [one.name for one in others if one.is_required]
    for beside in ([*required, *optional], required) if optional else (required,):
        for x in _first_tensors(first.name):
            call = _call(x, beside)
            given = {*split(x.shape)[1], *(draw.name for draw in DRAWS)}
            if all(
                name in given
                for slot in call.slots
                for word in split(slot.shape)[1]
                for name in names_in(word)
            ):
                yield call


def _first_tensors(name: str) -> Iterator[Slot]:
    if name in FLOATS:
        yield from (Slot(name="x", shape=shape) for shape in SHAPES)
    if name == "pixel_values":
        yield Slot(name="x", shape="batch 3 side side")
    if name == "input_ids":
        yield Slot(name="x", shape="batch length", domain=Domain.INDEX, bound="vocabulary")
    if name == "position_ids":
        yield Slot(name="x", shape="batch length", domain=Domain.INDEX, bound="length")


def _call(x: Slot, beside: list[str]) -> Pattern:
    slots: list[Slot] = []
    arguments = ["{x}"]
    for name in beside:
        found = BESIDE.get(name, ())
        slots += found
        values = ", ".join(f"{{{slot.name}}}" for slot in found) or "None"
        arguments += [f"{name}=({values})" if len(found) > 1 else f"{name}={values}"]
    needs = tuple(f"{name} % 64 == 0" for name in ("hidden", "inner") if name in split(x.shape)[1])
    return Pattern(x=x, forward=f"{{self}}.{{name}}({', '.join(arguments)})", slots=tuple(slots), needs=needs)


def _round(text: ModuleText, call: Pattern, arguments: str) -> Round:
    imports = [f"from {text.module} import {text.name}"]
    if text.config is not None:
        imports = [f"from {text.config.module} import {text.config.name}", *imports]
    pattern = replace(call, init=(f"{{self}}.{{name}} = {text.name}({arguments})",), imports=tuple(imports))
    pattern = replace(pattern, draws=_draws(pattern))
    return ((pattern, replace(pattern, init=(*pattern.init, FILLED))),)


def _draws(pattern: Pattern) -> tuple[Draw, ...]:
    """Draws for the sizes that the pattern speaks of and x does not give, and for those that they rest on."""
    tensors = {"self", "name", "x", *(slot.name for slot in pattern.slots)}
    texts = [
        hole
        for line in (*pattern.init, pattern.forward)
        for hole in HOLE.findall(line)
        if hole not in tensors
    ]
    texts += [
        word for slot in (pattern.x, *pattern.slots) for word in (*split(slot.shape)[1], slot.bound or "1")
    ]
    wanted = {name for text in texts for name in names_in(text)}
    given = set(split(pattern.x.shape)[1])
    draws = [FROM_INNER if draw.name == "hidden" and "inner" in given else draw for draw in DRAWS]
    found: list[Draw] = []
    for draw in reversed(draws):
        if draw.name in wanted - given:
            found.insert(0, draw)
            wanted |= {name for text in draw.among for name in names_in(text)}
    return tuple(found)


def _kind(text: ModuleText) -> Kind:
    if text.module.endswith("activations"):
        return Kind.ELEMENTWISE
    if "Norm" in text.name:
        return Kind.NORM
    if text.name == "Conv1D":
        return Kind.GEMM
    return Kind.INDEXING if text.forward[0].name in ("input_ids", "position_ids") else Kind.LAYER
