"""How fast a local model draws tokens, and whether they are those that a trainer would find.

    python -m benchmarks.generation [--model DIR | --shape NAME] [--json FILE]

Without --model, random weights of the shape of a known model: nothing is downloaded. Each batch is drawn
twice: the first time graphs are captured, the second is what a training run sees. No token ends a reply, so
that each row draws --new tokens. `mismatch` is the mean distance, in nats a token, of the log-probabilities
that were drawn with from one plain pass over the same tokens; it is taken again after all weights were
changed in place, which a graph or a cache of before would not notice.

For comparison: `transformers.generate` with a static cache drew 8,276 tokens/s on one H200 at batch 256
(shape qwen2.5-0.5b, bfloat16, prompts of 1,500 tokens, 384 new ones), after 46.8 s of compiling.
"""

import argparse
import datetime
import json
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
import transformers

from warpsmith.policy import Sampling
from warpsmith.policy.local.engine import Engine
from warpsmith.policy.local.tokens import DecodingConfig, TokenOutput

SHAPES: dict[str, dict[str, int]] = {
    "qwen2.5-0.5b": {
        "vocab_size": 151_936,
        "hidden_size": 896,
        "intermediate_size": 4_864,
        "num_hidden_layers": 24,
        "num_attention_heads": 14,
        "num_key_value_heads": 2,
    },
    "tiny": {
        "vocab_size": 1_000,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    },
}
MARK = 8_276.0  # tokens/s, see above
NUM_CHECKED = 4  # rows that the plain pass looks at
ROW = (
    "{batch:>6} {first_s:>8.1f} {second_s:>8.2f} {read_s:>8.2f} {tokens_per_s:>10,.0f} "
    "{mismatch:>9.4f} {mismatch_after:>9.4f} {peak_gb:>8.1f}  {how}\n"
)
HEAD = (
    f"{'batch':>6} {'first s':>8} {'again s':>8} {'read s':>8} {'tokens/s':>10} {'mismatch':>9} "
    f"{'updated':>9} {'peak GB':>8}  how\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One batch."""

    batch: int
    first_s: float  # captures included
    second_s: float
    read_s: float  # of the second, to read the prompts and draw one token
    tokens_per_s: float  # drawn, of the second
    decode_tokens_per_s: float  # without reading
    mismatch: float
    mismatch_after: float
    peak_gb: float
    num_graphs: int
    how: str  # "captured", or why not


def model_of(chosen: argparse.Namespace) -> Any:
    dtype = getattr(torch, chosen.dtype or ("bfloat16" if chosen.device == "cuda" else "float32"))
    if chosen.model is not None:
        found = transformers.AutoModelForCausalLM.from_pretrained(
            str(chosen.model), dtype=dtype, local_files_only=True
        )
        return found.to(chosen.device).eval()
    torch.manual_seed(0)
    longest = max(4_096, chosen.prompt + chosen.new)
    config = transformers.Qwen2Config(
        **SHAPES[chosen.shape], max_position_embeddings=longest, tie_word_embeddings=True
    )
    with torch.device(chosen.device):
        made = transformers.Qwen2ForCausalLM(config).eval()
    for parameter in made.parameters():  # not the buffers: positions need theirs in float32
        parameter.data = parameter.data.to(dtype)
    return made


def prompts_of(batch: int, chosen: argparse.Namespace, vocabulary: int) -> list[list[int]]:
    """Random ids; each prompt stands --samples times in a row, as when a task is tried several times."""
    source = torch.Generator().manual_seed(batch)
    num_prompts = -(-batch // chosen.samples)
    drawn = torch.randint(3, vocabulary, (num_prompts, chosen.prompt), generator=source).tolist()
    return [prompt for prompt in drawn for _ in range(chosen.samples)][:batch]


def timed(engine: Engine, prompts: Sequence[Sequence[int]], sampling: Sampling) -> tuple[float, Any]:
    _wait()
    begun_s = time.perf_counter()
    outputs = engine.generate(prompts, sampling)
    _wait()
    return time.perf_counter() - begun_s, outputs


@torch.inference_mode()
def mismatch(model: Any, prompts: Sequence[Sequence[int]], outputs: Sequence[TokenOutput]) -> float:
    """Mean |log-probability drawn with - that of one pass|, over the first rows."""
    total, count = 0.0, 0
    for prompt, output in list(zip(prompts, outputs, strict=True))[:NUM_CHECKED]:
        ids = torch.tensor([[*prompt, *output.ids]], device=model.device)
        logits = model(input_ids=ids, use_cache=False).logits[0, len(prompt) - 1 : -1].float()
        told = torch.log_softmax(logits, dim=-1).gather(-1, ids[0, len(prompt) :, None])[:, 0]
        total += float((told - torch.tensor(output.logprobs, device=told.device)).abs().sum())
        count += len(output.ids)
    return total / count


def drawn(model: Any, batch: int, chosen: argparse.Namespace) -> Drawn:
    decoding = DecodingConfig(max_rows=max(batch, 1), is_captured=not chosen.eager)
    engine = Engine(model, stop_ids=frozenset(), context_tokens=chosen.prompt + chosen.new, decoding=decoding)
    prompts = prompts_of(batch, chosen, model.config.vocab_size)
    sampling = Sampling(temperature=1.0, top_p=1.0, max_tokens=chosen.new, seed=1)
    if chosen.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    first_s, _ = timed(engine, prompts, sampling)
    read_s, _ = timed(engine, prompts, replace(sampling, max_tokens=1))
    second_s, outputs = timed(engine, prompts, sampling)
    before = mismatch(model, prompts, outputs)
    _change(model, 1.05)
    _, updated = timed(engine, prompts[:NUM_CHECKED], sampling)
    after = mismatch(model, prompts[:NUM_CHECKED], updated)
    _change(model, 1 / 1.05)
    num_drawn = sum(len(output.ids) for output in outputs)
    decoder = engine.decoder()
    why = f"plain loop: {engine.why_plain}" if decoder is None else decoder.why_not_captured
    return Drawn(
        batch=batch,
        first_s=first_s,
        second_s=second_s,
        read_s=read_s,
        tokens_per_s=num_drawn / second_s,
        decode_tokens_per_s=(num_drawn - batch) / max(second_s - read_s, 1e-9),
        mismatch=before,
        mismatch_after=after,
        peak_gb=torch.cuda.max_memory_allocated() / 1e9 if chosen.device == "cuda" else 0.0,
        num_graphs=decoder.num_graphs if decoder is not None else 0,
        how=why or "captured",
    )


@torch.no_grad()
def _change(model: Any, factor: float) -> None:
    for parameter in model.parameters():
        parameter.mul_(factor)


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, help="a checkpoint's folder")
    parser.add_argument("--shape", choices=sorted(SHAPES), default="qwen2.5-0.5b")
    parser.add_argument("--batches", type=int, nargs="+", default=[16, 64, 256])
    parser.add_argument("--prompt", type=int, default=1_500, help="tokens")
    parser.add_argument("--new", type=int, default=384, help="tokens")
    parser.add_argument("--samples", type=int, default=1, help="of each prompt; it is read once for them all")
    parser.add_argument("--dtype", choices=["bfloat16", "float32"])
    parser.add_argument("--device", choices=["cuda", "cpu"])
    parser.add_argument("--eager", action="store_true", help="capture no graphs")
    parser.add_argument("--json", type=Path)
    return parser


def main() -> None:
    parser = arguments()
    chosen = parser.parse_args()
    if min(*chosen.batches, chosen.prompt, chosen.new, chosen.samples) < 1:
        parser.error("batches, prompt, new and samples must be 1 or more")
    chosen.device = chosen.device or ("cuda" if torch.cuda.is_available() else "cpu")
    name = torch.cuda.get_device_name() if chosen.device == "cuda" else platform.processor() or "cpu"
    model = model_of(chosen)
    sys.stdout.write(
        f"{chosen.model or chosen.shape} on {name}, {model.dtype}, prompt {chosen.prompt}, new {chosen.new}, "
        f"{chosen.samples} samples a prompt\n{HEAD}"
    )
    found = []
    for batch in chosen.batches:
        found.append(drawn(model, batch, chosen))
        sys.stdout.write(ROW.format(**asdict(found[-1])))
        sys.stdout.flush()
    if chosen.json:
        record = {
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "command": " ".join(["python -m benchmarks.generation", *sys.argv[1:]]),
            "device": name,
            "versions": {
                "python": platform.python_version(),
                "torch": torch.__version__,
                "cuda": torch.version.cuda,
                "transformers": transformers.__version__,
            },
            "model": str(chosen.model or chosen.shape),
            "dtype": str(model.dtype),
            "prompt_tokens": chosen.prompt,
            "new_tokens": chosen.new,
            "samples_per_prompt": chosen.samples,
            "mark_tokens_per_s": MARK,
            "batches": [asdict(one) for one in found],
        }
        chosen.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
