"""Finding nvcc and the host's compiler, on machines made of shell scripts."""

import re
import sys
from pathlib import Path

import pytest

from warpsmith.core import EnvironmentMissing
from warpsmith.toolchain import find_compiler, find_nvcc, nvcc
from warpsmith.toolchain.inventory import inventory
from warpsmith.toolchain.nvcc import gencode

NVCC = """#!/bin/sh
case "$1" in
--version) echo "Cuda compilation tools, release {release}, V{release}.88" ;;
--dryrun) echo '#$ TOP={top}'; echo '#$ INCLUDES="-I{top}/include"' ;;
esac
"""


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def toolkit(root, release):
    """A toolkit as its installer leaves it, as far as it is looked at."""
    (root / "include").mkdir(parents=True)
    (root / "lib64").mkdir()
    (root / "lib64" / "libcudart.so").touch()
    (root / "include" / "cuda.h").touch()
    return program(root / "bin" / "nvcc", NVCC.format(release=release, top=root))


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A machine without any compiler, wheel or toolkit."""
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    for variable in ("CUDA_HOME", "CUDA_PATH", "CXX"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site-packages")])
    monkeypatch.setattr(nvcc, "DEFAULT", tmp_path / "usr-local-cuda" / "bin" / "nvcc")
    monkeypatch.setattr(nvcc, "SYSTEM_LIBRARIES", ())
    return tmp_path


def test_a_bare_machine_has_no_nvcc(bare):
    assert find_nvcc() is None


def test_path_comes_first_then_the_environment_then_the_usual_place_then_wheels(bare, monkeypatch):
    wheel = toolkit(bare / "site-packages" / "nvidia" / "cu13", "13.3")
    assert find_nvcc().path == wheel
    usual = toolkit(bare / "usr-local-cuda", "13.2")
    assert find_nvcc().path == usual
    home = toolkit(bare / "home", "13.1")
    monkeypatch.setenv("CUDA_HOME", str(bare / "home"))
    assert find_nvcc().path == home
    on_path = toolkit(bare / "opt", "13.0")
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert (find_nvcc().path, find_nvcc().version) == (on_path, "13.0.88")


def test_a_wrapper_on_path_leads_to_the_toolkits_folders(bare):
    toolkit(bare / "cuda", "13.0")
    program(bare / "path" / "nvcc", NVCC.format(release="13.0", top=bare / "cuda"))
    found = find_nvcc()
    assert found.root == bare / "cuda"
    assert found.header("cuda.h") == bare / "cuda" / "include" / "cuda.h"
    assert found.library("cudart") == bare / "cuda" / "lib64" / "libcudart.so"
    assert (found.header("cublas_v2.h"), found.library("cublas")) == (None, None)


def test_an_nvcc_that_does_not_run_is_passed_over(bare):
    program(bare / "path" / "nvcc", "#!/bin/sh\nexit 1\n")
    wheel = toolkit(bare / "site-packages" / "nvidia" / "cu13", "13.3")
    assert find_nvcc().path == wheel


def test_cublas_is_taken_from_the_wheels_when_the_toolkit_has_none(bare):
    toolkit(bare / "usr-local-cuda", "13.0")
    wheel = bare / "site-packages" / "nvidia" / "cu13"
    for name in ("include/cublas_v2.h", "lib/libcublas.so.13"):
        (wheel / name).parent.mkdir(parents=True, exist_ok=True)
        (wheel / name).touch()
    found = find_nvcc()
    assert found.library("cublas") == wheel / "lib" / "libcublas.so.13"
    assert found.header("cublas_v2.h") == wheel / "include" / "cublas_v2.h"


def test_only_the_one_architecture_is_built():
    assert gencode("sm_90a") == "-gencode=arch=compute_90a,code=sm_90a"


def test_without_a_host_compiler_the_fix_is_named(bare):
    with pytest.raises(EnvironmentMissing, match=re.escape("apt-get install g++")):
        find_compiler()


def test_the_host_compiler_is_gxx_before_clang_unless_cxx_names_another(bare, monkeypatch):
    program(bare / "path" / "clang++", "#!/bin/sh\necho clang version 16.0.0\n")
    assert find_compiler().version == "clang version 16.0.0"
    program(bare / "path" / "g++", "#!/bin/sh\necho 'g++ (Debian) 12.2.0'\necho Copyright\n")
    assert find_compiler().version == "g++ (Debian) 12.2.0"
    monkeypatch.setenv("CXX", "clang++")
    assert find_compiler().path == bare / "path" / "clang++"
    monkeypatch.setenv("CXX", "icpc")
    with pytest.raises(EnvironmentMissing, match="CXX names 'icpc'"):
        find_compiler()


def test_an_inventory_of_a_bare_machine_names_a_fix_for_everything(bare):
    found = {one.name: one for one in inventory()}
    assert {name for name, one in found.items() if one.found} <= {
        "ncu",
        "nsys",
    }  # these have places of their own
    assert all(one.fix and one.needed_for for one in found.values())
    assert set(found) >= {"C++ compiler", "nvcc", "ptxas", "cuobjdump", "ncu", "nsys", "compute-sanitizer"}


def test_an_inventory_says_where_things_are(bare):
    toolkit(bare / "usr-local-cuda", "13.0")
    ptxas = program(bare / "usr-local-cuda" / "bin" / "ptxas", "")
    found = {one.name: one.found for one in inventory()}
    assert found["nvcc"] == f"{bare / 'usr-local-cuda' / 'bin' / 'nvcc'} (13.0.88)"
    assert found["ptxas"] == str(ptxas)


def test_wheels_of_the_newest_cuda_come_first(bare):
    for version in ("cu12", "cu13"):
        (bare / "site-packages" / "nvidia" / version).mkdir(parents=True)
    assert [Path(folder).name for folder in nvcc.wheel_folders()] == ["cu13", "cu12"]
