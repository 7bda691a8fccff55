"""Imports point one way, and importing does nothing: app -> finetune -> voices -> engines."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests.conftest import ROOT

FOLDERS = ["engines", "voices", "finetune", "app"]
MODULES = {
    folder: sorted(
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in (ROOT / folder).rglob("*.py")
    )
    for folder in FOLDERS
}
# Entry points that run when imported.
RUNS = {"app.__main__"}
# Of the engines, what the rest may use anywhere.
LIGHT = (
    "engines.texts.",
    *(
        f"engines.pocket.{name}"
        for name in ("align", "features", "phones", "pronouncing", "reading", "shape", "sound",
                     "spelling", "weights")
    ),
)  # fmt: skip
# Torch lives here, in processes that are not the studio.
HEAVY = [
    name
    for folder in FOLDERS
    for name in MODULES[folder]
    if name.startswith("finetune.training.")
    or (
        name.count(".") >= 2
        and name.startswith("engines.")
        and not name.startswith(LIGHT)
        and not name.endswith(("settings", "facts"))
    )
]


def loaded_by(modules: list[str]) -> set[str]:
    """Top-level packages that a fresh process has loaded after importing these."""
    code = f"""if True:
        import importlib, sys
        for name in {modules!r}: importlib.import_module(name)
        print(*{{name.partition(".")[0] for name in sys.modules}})"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("folder", ["engines", "voices", "finetune"])
def test_importing_a_folder_loads_neither_torch_nor_a_server(folder):
    loaded = loaded_by([name for name in MODULES[folder] if name not in HEAVY])

    assert not loaded & {"torch", "torchaudio", "transformers", "TTS", "starlette", "uvicorn"}


def test_importing_the_app_never_loads_torch():
    light = [name for name in MODULES["app"] if name not in RUNS]

    assert not loaded_by(light) & {"torch", "torchaudio", "transformers", "TTS", "fastapi"}


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_point_one_way(folder):
    above = set(FOLDERS[FOLDERS.index(folder) + 1 :])

    wrong = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in (ROOT / folder).rglob("*.py")
        for name in imported(path.read_text(encoding="utf-8"))
        if name.partition(".")[0] in above | {"tests"}
    }

    assert wrong == set()


def imported(source: str) -> list[str]:
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
    return names


def test_importing_makes_no_file(tmp_path):
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import {', '.join(MODULES['finetune'])}"
    subprocess.run([sys.executable, "-B", "-c", code], cwd=tmp_path, check=True)

    assert list(tmp_path.iterdir()) == []


def test_set_up_needs_only_the_standard_library():
    loaded = loaded_by(["app.setup.start", "app.setup.installer"])

    third_party = loaded - set(sys.stdlib_module_names) - {"app", "engines", "__main__"}

    assert {name for name in third_party if not name.startswith("_")} == set()


DANGEROUS = {
    "os.system": "a shell string",
    "os.popen": "a shell string",
    "pickle.load": "runs code of the file's maker",
    "pickle.loads": "runs code of the file's maker",
    "yaml.load": "runs code of the file's maker",
    "joblib.load": "runs code of the file's maker",
}


def test_no_shell_strings_and_no_pickles():
    found = []
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(call, ast.Call):
                    found += [f"{path.relative_to(ROOT)}:{call.lineno} {why}" for why in bad(call)]

    assert found == []


def bad(call: ast.Call) -> list[str]:
    name = ast.unparse(call.func)
    given = {word.arg: ast.unparse(word.value) for word in call.keywords}
    reasons = [DANGEROUS[name]] if name in DANGEROUS else []
    reasons += ["a shell string"] if given.get("shell", "False") != "False" else []
    reasons += ["a pickle"] if given.get("allow_pickle", "False") != "False" else []
    if name.endswith("torch.load") and given.get("weights_only") != "True":
        reasons.append("a pickle")
    return reasons
