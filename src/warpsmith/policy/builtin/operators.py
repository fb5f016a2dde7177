"""Pointwise operators as CUDA expressions, each within 2 ulp of the exact result of its arguments in fp32.

A template's {0}, {1}, … are names of variables, so repeating one costs nothing. `$` stands for the suffix of
the math function: `exp$` is `expf` for float and `exp` for double.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from warpsmith.policy.builtin.graph import Number


class Casting(StrEnum):
    """To which C type an operator's arguments are brought first."""

    RESULT = "result"  # that of the output
    ARGUMENTS = "arguments"  # the widest of the arguments': comparisons
    SELECT = "select"  # the first is a bool, the others are as RESULT
    TRUTH = "truth"  # bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """How a pointwise operator is written, and whether it costs more than a few instructions."""

    template: str
    casting: Casting = Casting.RESULT
    is_costly: bool = False


def _plain(template: str) -> Operator:
    return Operator(template=template)


def _costly(template: str) -> Operator:
    return Operator(template=template, is_costly=True)


def _comparison(template: str) -> Operator:
    return Operator(template=template, casting=Casting.ARGUMENTS)


def _truth(template: str) -> Operator:
    return Operator(template=template, casting=Casting.TRUTH)


OPERATORS: dict[str, Operator] = {
    "add": _plain("{0} + {1}"),
    "sub": _plain("{0} - {1}"),
    "mul": _plain("{0} * {1}"),
    "div": _plain("{0} / {1}"),
    "neg": _plain("-{0}"),
    "abs": _plain("fabs$({0})"),
    "square": _plain("{0} * {0}"),
    "cube": _plain("{0} * {0} * {0}"),
    "reciprocal": _plain("{1.0} / {0}"),
    "sqrt": _plain("sqrt$({0})"),
    "rsqrt": _plain("rsqrt$({0})"),
    "exp": _costly("exp$({0})"),
    "exp2": _costly("exp2$({0})"),
    "expm1": _costly("expm1$({0})"),
    "log": _costly("log$({0})"),
    "log2": _costly("log2$({0})"),
    "log10": _costly("log10$({0})"),
    "log1p": _costly("log1p$({0})"),
    "pow": _costly("pow$({0}, {1})"),
    "sin": _costly("sin$({0})"),
    "cos": _costly("cos$({0})"),
    "tan": _costly("tan$({0})"),
    "asin": _costly("asin$({0})"),
    "acos": _costly("acos$({0})"),
    "atan": _costly("atan$({0})"),
    "atan2": _costly("atan2$({0}, {1})"),
    "sinh": _costly("sinh$({0})"),
    "cosh": _costly("cosh$({0})"),
    "tanh": _costly("tanh$({0})"),
    "asinh": _costly("asinh$({0})"),
    "acosh": _costly("acosh$({0})"),
    "atanh": _costly("atanh$({0})"),
    "erf": _costly("erf$({0})"),
    "erfc": _costly("erfc$({0})"),
    "sigmoid": _costly("{1.0} / ({1.0} + exp$(-{0}))"),
    "gelu_erf": _costly("{0.5} * {0} * ({1.0} + erf$({0} * {0.7071067811865476}))"),
    "gelu_tanh": _costly(
        "{0.5} * {0} * ({1.0} + tanh$({0.7978845608028654} * ({0} + {0.044715} * {0} * {0} * {0})))"
    ),
    "floor": _plain("floor$({0})"),
    "ceil": _plain("ceil$({0})"),
    "trunc": _plain("trunc$({0})"),
    "round": _plain("rint$({0})"),  # halves to even, as torch does
    "fmod": _costly("fmod$({0}, {1})"),
    "remainder": _costly("{0} - floor$({0} / {1}) * {1}"),
    "hypot": _costly("hypot$({0}, {1})"),
    # A NaN on either side is the result, as in torch and unlike fmaxf.
    "maximum": _plain("({0} > {1} || {0} != {0}) ? {0} : {1}"),
    "minimum": _plain("({0} < {1} || {0} != {0}) ? {0} : {1}"),
    "relu": _plain("{0} < {0.0} ? {0.0} : {0}"),  # lets a NaN through
    "sign": _plain("({0} > {0.0}) - ({0} < {0.0})"),
    "leaky_relu": _plain("{0} > {0.0} ? {0} : {0} * {1}"),
    "eq": _comparison("{0} == {1}"),
    "ne": _comparison("{0} != {1}"),
    "lt": _comparison("{0} < {1}"),
    "le": _comparison("{0} <= {1}"),
    "gt": _comparison("{0} > {1}"),
    "ge": _comparison("{0} >= {1}"),
    "isnan": _comparison("{0} != {0}"),
    "isinf": _comparison("isinf({0})"),
    "isfinite": _comparison("isfinite({0})"),
    "where": Operator(template="{0} ? {1} : {2}", casting=Casting.SELECT),
    "logical_and": _truth("{0} && {1}"),
    "logical_or": _truth("{0} || {1}"),
    "logical_xor": _truth("{0} != {1}"),
    "logical_not": _truth("!{0}"),
    "bitwise_and": _plain("{0} & {1}"),
    "bitwise_or": _plain("{0} | {1}"),
    "bitwise_xor": _plain("{0} ^ {1}"),
    "bitwise_not": _plain("~{0}"),
    "copy": _plain("{0}"),  # a change of dtype, or the writing of a view
}

# For integers and bools, where C's operator of the same spelling means something else, or none exists.
INTEGER_TEMPLATES = {
    "abs": "{0} < 0 ? -{0} : {0}",
    "maximum": "{0} > {1} ? {0} : {1}",
    "minimum": "{0} < {1} ? {0} : {1}",
    "floor": "{0}",
    "ceil": "{0}",
    "trunc": "{0}",
    "round": "{0}",
    "isnan": "false",
    "isinf": "false",
    "isfinite": "true",
    "fmod": "{0} % {1}",
    "remainder": "({0} % {1} + {1}) % {1}",
}
BOOL_TEMPLATES = {"bitwise_not": "!{0}", "add": "{0} || {1}", "mul": "{0} && {1}"}

# What a value of each dtype is computed in.
COMPUTE_TYPES = {
    "float64": "double",
    "float32": "float",
    "float16": "float",
    "bfloat16": "float",
    "int64": "long long",
    "int32": "int",
    "int16": "int",
    "int8": "int",
    "uint8": "int",
    "bool": "bool",
}

# What a value of each dtype is stored as.
STORAGE_TYPES = {
    "float64": "double",
    "float32": "float",
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "int64": "long long",
    "int32": "int",
    "int16": "short",
    "int8": "signed char",
    "uint8": "unsigned char",
    "bool": "bool",
}

_RANKS = ("bool", "int", "long long", "float", "double")


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """An argument as C text, with the C type it has."""

    text: str
    ctype: str


def literal(value: Number, ctype: str) -> str:
    """`value` as a C constant of type `ctype`."""
    if ctype == "bool":
        return "true" if value else "false"
    if ctype in ("int", "long long"):
        return _integer_literal(int(value), ctype)
    value = float(value)
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    text = repr(value)
    return f"{text}f" if ctype == "float" else text


def _integer_literal(value: int, ctype: str) -> str:
    if ctype == "int":
        return str(value)
    return "(-9223372036854775807LL - 1)" if value == -(2**63) else f"{value}LL"


def cast(term: Term, ctype: str) -> str:
    """`term` as an expression of type `ctype`."""
    if term.ctype == ctype:
        return term.text
    return f"{term.text} != 0" if ctype == "bool" else f"({ctype}){term.text}"


def pointwise_expression(op: str, arguments: tuple[Term | Number, ...], dtype: str) -> str:
    """C text computing `op`, of type COMPUTE_TYPES[dtype]. Raises KeyError for an unknown operator."""
    operator = OPERATORS[op]
    result = COMPUTE_TYPES[dtype]
    if op == "div" and isinstance(arguments[1], float | int) and result in ("float", "double"):
        return _division_by_number(arguments[0], arguments[1], result)
    types = _argument_types(operator.casting, arguments, result)
    texts = [_text(argument, ctype) for argument, ctype in zip(arguments, types, strict=True)]
    if op == "copy":
        return texts[0]
    return _fill(_template(op, operator, types[-1]), texts, types[-1])


def widest(types: list[str]) -> str:
    """The C type that holds all of `types`, by PyTorch's promotion."""
    return max(types, key=_RANKS.index)


def _division_by_number(dividend: Term | Number, divisor: Number, ctype: str) -> str:
    # As torch does on a GPU: times the reciprocal, where that is finite.
    if divisor and math.isfinite(1.0 / divisor) and abs(divisor) > 1e-30:
        return f"{_text(dividend, ctype)} * {literal(1.0 / divisor, ctype)}"
    return f"{_text(dividend, ctype)} / {literal(divisor, ctype)}"


def _argument_types(casting: Casting, arguments: tuple[Term | Number, ...], result: str) -> list[str]:
    match casting:
        case Casting.RESULT:
            return [result] * len(arguments)
        case Casting.ARGUMENTS:
            terms = [argument.ctype for argument in arguments if isinstance(argument, Term)]
            numbers = [
                "float" if isinstance(a, float) else "bool" for a in arguments if not isinstance(a, Term)
            ]
            return [widest(terms + numbers)] * len(arguments)
        case Casting.SELECT:
            return ["bool", *[result] * (len(arguments) - 1)]
        case Casting.TRUTH:
            return ["bool"] * len(arguments)


def _text(argument: Term | Number, ctype: str) -> str:
    text = cast(argument, ctype) if isinstance(argument, Term) else literal(argument, ctype)
    return f"({text})" if text.startswith("-") or " " in text else text


def _template(op: str, operator: Operator, ctype: str) -> str:
    if ctype == "bool" and op in BOOL_TEMPLATES:
        return BOOL_TEMPLATES[op]
    if ctype not in ("float", "double") and op in INTEGER_TEMPLATES:
        return INTEGER_TEMPLATES[op]
    return operator.template


def _fill(template: str, texts: list[str], ctype: str) -> str:
    """{0} is an argument, {0.5} a constant of the type computed in."""
    pieces = template.replace("$", "f" if ctype == "float" else "").split("{")
    filled = [pieces[0]]
    for piece in pieces[1:]:
        key, rest = piece.split("}", 1)
        filled.append((literal(float(key), ctype) if "." in key else texts[int(key)]) + rest)
    return "".join(filled)
