"""Numbers as people read them: a unit that suits the size, three digits, and where the number comes from."""

import math

from warpsmith.core import Provenance, Ratio, Timing

TIME_UNITS = ((1e6, "s"), (1e3, "ms"), (1.0, "µs"), (1e-3, "ns"))  # from microseconds
BYTE_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
NOTHING = "–"


def time_text(time_us: float) -> str:
    """'12.3 µs', '1.24 ms'; a time that is not finite or not positive is shown as such."""
    if not math.isfinite(time_us) or time_us <= 0:
        return f"{time_us:g} µs"
    for scale, unit in TIME_UNITS:
        if time_us >= 0.9995 * scale:  # 999.7 µs would round to "1000 µs"
            return f"{_digits(time_us / scale)} {unit}"
    return f"{time_us:.3g} µs"


def seconds_text(seconds: float) -> str:
    """'41 s', '3 min 05 s', '2 h 10 min', as one speaks of a run."""
    if not math.isfinite(seconds):
        return f"{seconds:g} s"
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def bytes_text(count: int) -> str:
    """'512 B', '48 KiB', '1.5 GiB'."""
    for scale, unit in BYTE_UNITS:
        if count >= scale:
            return f"{_digits(count / scale)} {unit}"
    return f"{count} B"


def usd_text(usd: float) -> str:
    """'0', '0.0042', '1.25', '237': cents matter, their fractions only where there is nothing else."""
    return "0" if usd == 0 else f"{usd:.2f}" if usd >= 0.1 else f"{usd:.2g}"


def tokens_text(count: int) -> str:
    """'812', '12.3 k', '1.24 M'."""
    if count < 1000:
        return str(count)
    return f"{_digits(count / 1e3)} k" if count < 999_500 else f"{_digits(count / 1e6)} M"


def ratio_text(ratio: Ratio) -> str:
    """'1.43× [1.41, 1.45]'. Only for measured times: see `speedup_text`."""
    return f"{ratio.centre:.2f}× [{ratio.low:.2f}, {ratio.high:.2f}]"


def speedup_text(timing: Timing, ratio: Ratio | None) -> str:
    """The ratio with its interval, or the word 'modelled': a modelled time is never shown as a speed-up."""
    if timing.provenance is Provenance.MODELLED:
        return "modelled"
    return NOTHING if ratio is None else ratio_text(ratio)


def timing_text(timing: Timing, time_us: float | None) -> str:
    """A time of `timing`, marked when it is modelled."""
    if time_us is None:
        return NOTHING
    return time_text(time_us) + (" (modelled)" if timing.provenance is Provenance.MODELLED else "")


def floor_text(timing: Timing) -> str:
    """Time over the floor, '1.12×', marked when it is modelled."""
    if not timing.floor_us > 0:
        return NOTHING
    marked = " (modelled)" if timing.provenance is Provenance.MODELLED else ""
    return f"{_digits(timing.times_floor)}×{marked}"


def error_text(error: float) -> str:
    """'3.1e-07'; an exact zero is '0'."""
    return "0" if error == 0 else f"{error:.1e}"


def _digits(value: float) -> str:
    """Three significant digits, without an exponent."""
    decimals = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:.{decimals}f}"
