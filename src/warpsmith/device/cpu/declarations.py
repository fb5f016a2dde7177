"""Declarations that mean another thing on the host: shared memory, linkage of device code, launch bounds."""

from warpsmith.device.cpu.tokens import Edits, Source, Token

_ALIGNMENTS = frozenset(("__align__", "alignas", "__attribute__"))
_DEVICE = frozenset(("__device__", "__constant__", "__global__"))
_INLINE = frozenset(("inline", "__inline__", "__forceinline__", "constexpr"))
_LINKAGE = frozenset(("static", "extern", "friend", "typedef", "using", "__host__"))


def rewrite_shared(source: Source, edits: Edits, is_namespace: list[bool]) -> None:
    """Dynamic shared memory becomes a pointer to the block's buffer; a `static` beside `__shared__` goes."""
    for index, token in enumerate(source.tokens):
        if token.text != "__shared__":
            continue
        specifiers = _specifiers(source, index)
        if any(source.tokens[place].text == "extern" for place in specifiers):
            _rewrite_dynamic(source, edits, specifiers, is_file_scope=is_namespace[index])
        else:
            _drop(source, edits, [place for place in specifiers if source.tokens[place].text == "static"])
            _align_by_attribute(source, edits, [place for place in specifiers if place > index])


def rewrite_linkage(source: Source, edits: Edits, is_namespace: list[bool]) -> None:
    """What is private to its file under nvcc is so here: device variables, templates, inline functions.

    Two files may each have their own `template <int N> … step()`; plain functions collide, here as there.
    """
    for index, token in enumerate(source.tokens):
        is_candidate = token.text in _DEVICE and is_namespace[index]
        if is_candidate and _is_private(source, index):
            edits.insert(token.start, "static ")


def rewrite_bounds(source: Source, edits: Edits) -> None:
    """A kernel checks its own `__launch_bounds__`, as the driver does on a GPU."""
    for index, token in enumerate(source.tokens):
        if token.text != "__launch_bounds__" or not source.is_mark(index + 1, "("):
            continue
        close = source.closing(index + 1)
        body = None if close is None else _body(source, close + 1)
        if close is not None and body is not None:
            bound = _first_argument(source, index + 1, close)
            edits.insert(source.tokens[body].end, f" ::warpsmith::check_launch_bound({bound});")


def rewrite_attributes(source: Source, edits: Edits) -> None:
    """`__noinline__` can be no macro: the standard library writes `__attribute__((__noinline__))`."""
    for index, token in enumerate(source.tokens):
        if token.text == "__noinline__" and not source.is_mark(index - 1, "("):
            edits.replace(token.start, token.end, "__attribute__((noinline))")


def namespace_scope(source: Source) -> list[bool]:
    """For each token whether it stands at namespace scope: outside functions, classes and initializers."""
    scopes: list[bool] = []
    kinds = [True]
    start = 0
    for index, token in enumerate(source.tokens):
        if token.directive:
            scopes.append(False)
            continue
        scopes.append(all(kinds))
        if token.text == "{":
            kinds.append(_opens_namespace(source.tokens[start:index]))
        elif token.text == "}" and len(kinds) > 1:
            kinds.pop()
        if token.text in ("{", "}", ";"):
            start = index + 1
    return scopes


def _opens_namespace(statement: list[Token]) -> bool:
    plain = [token for token in statement if not token.directive]
    if any(token.text == "namespace" for token in plain):
        return True
    return len(plain) == 2 and plain[0].text == "extern" and plain[1].kind == "string"


def _specifiers(source: Source, index: int) -> list[int]:
    """The specifiers around the `__shared__` at `index`, itself included, and plain type names after it."""
    places = [index]
    position = index - 1
    while position >= 0 and source.tokens[position].directive == source.tokens[index].directive:
        if source.tokens[position].text == ")":
            opening = source.opening(position)
            if opening is None or source.tokens[opening - 1].text not in _ALIGNMENTS:
                break
            position = opening - 1
        elif source.tokens[position].kind != "name":
            break
        places.insert(0, position)
        position -= 1
    position = index + 1
    while position < len(source.tokens) and source.tokens[position].kind == "name":
        places.append(position)
        if source.tokens[position].text in _ALIGNMENTS:
            position = source.closing(position + 1) or position
        position += 1
    return places


def _drop(source: Source, edits: Edits, places: list[int]) -> None:
    for place in places:
        end = place
        if source.tokens[place].text in _ALIGNMENTS and source.is_mark(place + 1, "("):
            end = source.closing(place + 1) or place
        edits.remove(source.text, source.tokens[place].start, source.tokens[end].end)


def _align_by_attribute(source: Source, edits: Edits, places: list[int]) -> None:
    """`alignas` may not stand between the storage class and the type, where `__shared__` leaves it."""
    for place in places:
        if source.tokens[place].text == "alignas":
            edits.replace(source.tokens[place].start, source.tokens[place].end, "__align__")


def _rewrite_dynamic(source: Source, edits: Edits, specifiers: list[int], *, is_file_scope: bool) -> None:
    """`extern __shared__ T a[], b[][8];` -> `T (*const a) = …, (*const b)[8] = …;`"""
    tokens = source.tokens
    dropped = {"extern", "static", "__shared__", *_ALIGNMENTS}
    _drop(source, edits, [place for place in specifiers if tokens[place].text in dropped])
    if is_file_scope:
        edits.insert(tokens[specifiers[0]].start, "static thread_local ")
    position = specifiers[-1]
    while position + 2 < len(tokens) and tokens[position].text != ";":
        is_open_array = tokens[position].kind == "name" and source.is_mark(position + 1, "[")
        if is_open_array and source.is_mark(position + 2, "]"):
            edits.insert(tokens[position].start, "(*const ")
            edits.replace(tokens[position + 1].start, tokens[position + 2].end, ")")
            position += 2
            while source.is_mark(position + 1, "["):
                position = source.closing(position + 1) or position + 1
            edits.insert(tokens[position].end, " = ::warpsmith::DynamicShared{}")
        position += 1


def _is_private(source: Source, index: int) -> bool:
    """Whether the declaration around `index` may be given internal linkage."""
    first = index
    while (
        first > 0
        and source.tokens[first - 1].text not in (";", "{", "}")
        and not source.tokens[first - 1].directive
    ):
        first -= 1
    head = _template_header(source, first)
    if head is None or any(token.text in ("=", "[") for token in source.tokens[head:index]):
        return False
    end = _declarator_end(source, head)
    texts = {token.text for token in source.tokens[head:end]}
    qualifiers = [place for place in range(head, end) if source.tokens[place].text in _DEVICE]
    is_plain_function = source.is_mark(end, "(") and head == first and not _INLINE & texts
    is_taken = bool(_LINKAGE & texts) or is_plain_function or _is_member(source, head, end)
    return qualifiers[:1] == [index] and not is_taken


def _template_header(source: Source, first: int) -> int | None:
    """Past `template <…>` headers; None for a specialization or an instantiation, which take no linkage."""
    position = first
    while source.is_mark(position, "template"):
        if not source.is_mark(position + 1, "<") or source.is_mark(position + 2, ">"):
            return None
        depth = 0
        position += 1
        while position < len(source.tokens):
            depth += (source.tokens[position].text == "<") - (source.tokens[position].text == ">")
            position += 1
            if depth == 0:
                break
    return position


def _declarator_end(source: Source, position: int) -> int:
    """Where specifiers and declared name end: at a parameter list, an array, an initializer or the end."""
    while position < len(source.tokens) and source.tokens[position].text not in ("[", "=", ";", "{"):
        if source.is_mark(position, "("):
            if source.tokens[position - 1].text not in (
                *_ALIGNMENTS,
                "__launch_bounds__",
                "decltype",
                "__cluster_dims__",
            ):
                break
            position = source.closing(position) or position
        position += 1
    return position


def _is_member(source: Source, head: int, end: int) -> bool:
    """Whether the declared name is qualified: a member defined outside its class."""
    names = [place for place in range(head, end) if source.tokens[place].text == "operator"]
    name = names[0] if names else end - 1
    return source.is_mark(name - 1, "::")


def _body(source: Source, position: int) -> int | None:
    """The `{` of the function whose declaration continues at `position`, or None if it is only declared."""
    while position < len(source.tokens) and source.tokens[position].text not in ("{", ";"):
        if source.tokens[position].text == "(":
            position = source.closing(position) or position
        position += 1
    return position if source.is_mark(position, "{") else None


def _first_argument(source: Source, opening: int, closing: int) -> str:
    position = opening + 1
    while position < closing and source.tokens[position].text != ",":
        if source.tokens[position].text in ("(", "[", "{"):
            position = source.closing(position) or closing
        position += 1
    text = source.text[source.tokens[opening].end : source.tokens[position].start]
    return " ".join(text.replace("\\\n", " ").split())
