"""Kernel launches: `k<T><<<grid, block, shared, stream>>>(a, b)` becomes a call of our runtime.

    ::warpsmith::kernel("k<T>", [&](auto&... ws_) { k<T>(ws_...); })(grid, block, shared, stream)(a, b)

The order of the source is kept, so every part stays on its line; and the kernel is *called* inside a
generic lambda, so template arguments are deduced, defaults apply and arguments convert as they should.
"""

import json
import re

from warpsmith.device.cpu.tokens import Edits, Source

# After these an expression begins, so a name that follows one of them does not belong to it.
_KEYWORDS = frozenset(("return", "else", "do", "case", "goto", "throw", "new", "delete", "sizeof"))


def rewrite_launches(source: Source, edits: Edits) -> None:
    """Rewrite every launch; one that can't be read is left for the compiler to complain about there."""
    for index, token in enumerate(source.tokens):
        if token.text == "<<<" and not source.is_mark(index - 1, "operator"):
            _rewrite(source, edits, index)


def _rewrite(source: Source, edits: Edits, index: int) -> None:
    callee = _callee_start(source, index)
    close = _config_end(source, index)
    last = None if close is None else source.closing(close + 1)
    if callee is None or close is None or last is None:
        return
    tokens = source.tokens
    text = source.text[tokens[callee].start : tokens[index - 1].end]
    name = json.dumps(re.sub(r"(?:\s|\\\n)+", " ", text))
    literals = _literals(source, close + 1, last)
    if literals is None:
        parameters, arguments = "auto&... ws_", "ws_..."
    else:
        parameters = ", ".join(
            f"auto& ws{place}_" for place, literal in enumerate(literals) if literal is None
        )
        arguments = ", ".join(f"ws{place}_" if text is None else text for place, text in enumerate(literals))
        _keep_only_values(source, edits, close + 1, last)
    edits.insert(tokens[callee].start, f"::warpsmith::kernel({name}, [&]({parameters}) {{ ")
    edits.replace(tokens[index].start, tokens[index].end, f"({arguments}); }})(")
    edits.replace(tokens[close - 2].start, tokens[close].end, ")")


def _config_end(source: Source, index: int) -> int | None:
    """The last `>` of the `>>>` that closes the `<<<` at `index`: the first run of three before a `(`."""
    position: int | None = index + 1
    while position is not None and position < len(source.tokens):
        token = source.tokens[position]
        if token.directive != source.tokens[index].directive or token.text in (";", ")", "]", "}"):
            return None
        if token.text in ("(", "[", "{"):
            position = source.closing(position)
            if position is None:
                return None
        elif token.text == ">" and _is_close(source, position):
            return position
        position += 1
    return None


def _is_close(source: Source, index: int) -> bool:
    """Whether `>>>` ends at `index`. In `Pair<Int<2>>>>>(` the closing three are the last three."""
    run = source.tokens[index - 2 : index + 1]
    is_run = all(token.text == ">" for token in run) and run[2].start - run[0].start == 2
    return is_run and source.is_mark(index + 1, "(")


def _callee_start(source: Source, index: int) -> int | None:
    """Where the expression begins that stands before `<<<`: names, `::`, templates, members, calls."""
    position = index - 1
    while (start := _primary_start(source, position)) is not None:
        before = start - 1
        if source.is_mark(before, "template"):
            before -= 1
        if before < 0 or source.tokens[before].directive != source.tokens[index].directive:
            return start
        joint = source.tokens[before].text
        if joint in (".", "->", "##"):
            position = before - 1
        elif joint == "::":
            if not _ends_a_name(source, before - 1):
                return before
            position = before - 1
        else:
            return start
    return None


def _ends_a_name(source: Source, index: int) -> bool:
    if index < 0:
        return False
    token = source.tokens[index]
    is_name = token.kind == "name" and token.text not in _KEYWORDS
    return is_name or (token.text == ">" and source.opening_angle(index) is not None)


def _primary_start(source: Source, position: int) -> int | None:
    """The start of a name with its template arguments, calls and subscripts, or of a bracketed expression."""
    while position >= 0:
        text = source.tokens[position].text
        if text == "]":
            opening = source.opening(position)
            position = -1 if opening is None else opening - 1
        elif text == ")":
            opening = source.opening(position)
            is_call = opening is not None and (
                source.is_mark(opening - 1, "]") or _ends_a_name(source, opening - 1)
            )
            if opening is None or not is_call:
                return opening
            position = opening - 1
        elif text == ">":
            opening = source.opening_angle(position)
            position = -1 if opening is None else opening - 1
        else:
            return position if source.tokens[position].kind == "name" else None
    return None


def _literals(source: Source, opening: int, closing: int) -> list[str | None] | None:
    """For each argument its text if it must stand in the call itself, else None; None if none has to.

    A null pointer written as 0 or NULL, or a braced list, loses its meaning once it is a variable.
    """
    pieces = _arguments(source, opening, closing)
    if pieces is None or source.tokens[opening].directive:
        return None
    texts = [source.text[source.tokens[first].start : source.tokens[last].end] for first, last in pieces]
    if any(text.endswith("...") for text in texts):
        return None
    literals = [
        text.replace("\n", " ") if text in ("0", "NULL") or text[0] == "{" else None for text in texts
    ]
    return literals if any(literals) else None


def _arguments(source: Source, opening: int, closing: int) -> list[tuple[int, int]] | None:
    """First and last token of each argument, or None if angle brackets leave in doubt where one ends."""
    pieces: list[tuple[int, int]] = []
    angles = 0
    first = position = opening + 1
    while position < closing:
        text = source.tokens[position].text
        angles += (text == "<") - (text == ">")
        if text in ("(", "[", "{"):
            position = source.closing(position) or closing
        elif text == "," and angles == 0:
            pieces.append((first, position - 1))
            first = position + 1
        position += 1
    if first < closing:
        pieces.append((first, closing - 1))
    return pieces if angles == 0 and all(start <= end for start, end in pieces) else None


def _keep_only_values(source: Source, edits: Edits, opening: int, closing: int) -> None:
    """Take the literal arguments out of the list; each goes with one comma beside it."""
    pieces = _arguments(source, opening, closing) or []
    literals = _literals(source, opening, closing) or []
    tokens = source.tokens
    has_value = False
    for (first, last), literal in zip(pieces, literals, strict=True):
        comma = first - 1
        if literal is not None:
            edits.remove(source.text, tokens[first].start, tokens[last].end)
        if comma > opening and (literal is not None or not has_value):
            edits.remove(source.text, tokens[comma].start, tokens[comma].end)
        has_value = has_value or literal is None
