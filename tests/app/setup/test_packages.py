import pytest

from app.setup import packages
from tests.project import HERE

DRIVER = """\
NVRM version: NVIDIA UNIX {kind} Kernel Module  {version}  Release Build  (dvs-builder@U22)
GCC version:  gcc version 12.3.0
"""


@pytest.mark.parametrize(
    ("system", "driver", "backend"),
    [
        ("Linux", None, None),
        ("Linux", 580, None),
        ("Linux", 595, None),
        ("Linux", 579, "auto"),
        ("Linux", 470, "auto"),
        ("Darwin", None, None),
        ("Windows", None, "auto"),
        ("Windows", 595, "auto"),
    ],
)
def test_the_default_torch_is_taken_where_it_fits(system, driver, backend):
    assert packages.torch_backend(system, driver) == backend


def test_the_driver_is_read_from_both_kinds_of_kernel_module():
    closed = DRIVER.format(kind="x86_64", version="550.54.15")
    opened = DRIVER.format(kind="Open", version="x").replace(
        "Kernel Module  x", "Kernel Module for x86_64  580.95.05"
    )

    assert packages.nvidia_driver(closed) == 550
    assert packages.nvidia_driver(opened) == 580
    assert packages.nvidia_driver("") is None


def test_the_lock_without_torch_loses_only_what_comes_along_with_torch():
    lock = (HERE / "requirements" / "studio.txt").read_text(encoding="utf-8")

    rest = packages.without_torch(lock)

    left = {entry.partition("==")[0] for entry in packages.entries(rest)}
    gone = {entry.partition("==")[0] for entry in packages.entries(lock)} - left
    assert {"torch", "torchaudio", "triton", "nvidia-cublas", "cuda-toolkit"} <= gone
    assert {"torchcodec", "nvidia-ml-py", "transformers", "starlette"} <= left
    assert all(name.startswith(("torch", "triton", "nvidia-", "cuda-")) for name in gone)


def test_every_package_of_the_locks_is_pinned_with_a_hash_and_names_no_index():
    for name in ("studio", "test", "uv"):
        lock = (HERE / "requirements" / f"{name}.txt").read_text(encoding="utf-8")

        entries = list(packages.entries(lock))
        assert entries
        assert all("==" in entry.split()[0] and "--hash=sha256:" in entry for entry in entries)
        assert "://" not in lock
        assert "-index" not in lock


def test_the_version_of_torch_is_the_locks():
    lock = (HERE / "requirements" / "studio.txt").read_text(encoding="utf-8")

    assert packages.pins(lock, {"torch", "torchaudio"}) == ["torch==2.11.0", "torchaudio==2.11.0"]
