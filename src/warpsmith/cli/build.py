"""`warpsmith build`: make a folder of sources importable on this machine."""

from pathlib import Path

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import MEANINGS, ExitCode, judged

EXAMPLES = (
    "warpsmith build runs/2030-01-31-rmsnorm_gelu-1",
    "warpsmith build . --device cuda --arch sm_80",
    'cd RUN && warpsmith build && python -c "from model_new import ModelNew"',
)


def build(
    *,
    folder: options.FolderArgument = Path(),
    device: options.DeviceOption = "auto",
    arch: options.ArchOption = None,
    gpu: options.GpuOption = None,
    sandbox: options.SandboxOption = "auto",
    json: options.JsonOption = False,
) -> ExitCode:
    """Build the kernels of a folder in place, so that its model_new.py can be imported.

    Writes cuda_extension.py, which model_new.py imports, and libcandidate.so beside it. Builds are kept: the
    second time costs nothing. Nothing is judged: see warpsmith verify.
    """
    from warpsmith.core import Candidate
    from warpsmith.device import select_device
    from warpsmith.report.package import install
    from warpsmith.report.terminal import kernels_table
    from warpsmith.report.verdicts import evidence_text, verdict_text
    from warpsmith.sandbox import pick
    from warpsmith.toolchain import Build, Toolchain, default_store

    console = Console(is_json=json)
    chosen = select_device(device, arch, gpu)
    toolchain = Toolchain(chosen, default_store(), pick(sandbox))
    candidate = Candidate.from_folder(folder)
    with console.busy(f"building for {chosen.name} ({chosen.arch})"):
        built = toolchain.build(candidate)
    if isinstance(built, Build):
        code, files = ExitCode.OK, install(built, folder)
        console.say(kernels_table(built.resources), *(f"wrote {path}" for path in files))
    else:
        code, files = judged(built), ()
        console.say(verdict_text(built), evidence_text(built))
    console.document(
        {
            "command": "build",
            "exit_code": int(code),
            "meaning": MEANINGS[code],
            "candidate_digest": candidate.digest,
            "files": files,
            "result": built,
        }
    )
    return code
