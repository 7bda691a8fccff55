"""A Timbre of nothing but its set-up, and a uv that only says what it was asked to do."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent.parent

posix_only = pytest.mark.skipif(os.name == "nt", reason="the fake uv is a script with a #! line")

APP = """
import json, os, sys
print(json.dumps({"arguments": sys.argv[1:], "prefix": sys.prefix, "folder": os.getcwd(),
                  "path": sys.path, "offline": os.environ.get("TIMBRE_OFFLINE")}))
sys.exit(int(os.environ.get("APP_EXIT", "0")))
"""

FAKE_UV = """#!{python}
import json, os, sys, time
if "--version" in sys.argv:
    print("uv " + os.environ.get("FAKE_UV_VERSION", "9.9.9"))
elif "dir" in sys.argv:
    print(os.environ["FAKE_UV_HOME"])
else:
    with open(os.path.join(os.environ["FAKE_UV_HOME"], "asked"), "a") as asked:
        asked.write(json.dumps(sys.argv[1:]) + "\\n")
    print(os.environ.get("FAKE_UV_SAYS", "Installed 3 packages in 1ms"), file=sys.stderr, flush=True)
    time.sleep(float(os.environ.get("FAKE_UV_SLEEPS", "0")))
    sys.exit(int(os.environ.get("FAKE_UV_EXIT", "0")))
"""

STUDIO = """\
six==1.17.0 \\
    --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274
    # via -r studio.in
torch==2.11.0 \\
    --hash=sha256:0000000000000000000000000000000000000000000000000000000000000000
"""


@dataclass
class Project:
    """A folder with launch.py in it, and how to start it."""

    root: Path
    fakes: Path

    def environ(self, **variables: str) -> dict[str, str]:
        path = os.pathsep.join([str(self.fakes), os.defpath])
        kept = {name: os.environ[name] for name in ("SYSTEMROOT", "TEMP") if name in os.environ}
        home = {"HOME": str(self.fakes), "FAKE_UV_HOME": str(self.fakes)}
        return {"PATH": path, **kept, **home, **variables}

    def command(self, *arguments: str, python: str = sys.executable) -> list[str]:
        return [python, str(self.root / "launch.py"), *arguments]

    def start(
        self,
        *arguments: str,
        python: str = sys.executable,
        cwd: Path | None = None,
        **variables: str,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments, python=python),
            cwd=cwd or self.root,
            env=self.environ(**variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def begin(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.root,
            env=self.environ(**variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def change_requirements(self) -> None:
        with (self.root / "requirements" / "studio.txt").open("a") as lock:
            lock.write("# changed\n")

    @property
    def asked(self) -> list[list[str]]:
        """The installations the fake uv was asked for."""
        record = self.fakes / "asked"
        return (
            [json.loads(line) for line in record.read_text().splitlines()]
            if record.exists()
            else []
        )


def make(folder: Path) -> Project:
    """Lay a project out in an empty folder."""
    root, fakes = folder / "timbre", folder / "fakes"
    for part in ("app/setup", "engines", "requirements"):
        (root / part).mkdir(parents=True)
    fakes.mkdir()
    shutil.copy(HERE / "launch.py", root)
    for module in (HERE / "app" / "setup").glob("*.py"):
        shutil.copy(module, root / "app" / "setup")
    shutil.copy(HERE / "engines" / "errors.py", root / "engines")
    (root / "app" / "__main__.py").write_text(APP)
    (root / "requirements" / "studio.txt").write_text(STUDIO)
    (root / "requirements" / "test.txt").write_text("pytest==9.0.0\n")
    (root / "requirements" / "uv.txt").write_text("uv==0.13.8 \\\n    --hash=sha256:00\n")
    uv = fakes / "uv"
    uv.write_text(FAKE_UV.format(python=sys.executable))
    uv.chmod(0o755)
    return Project(root, fakes)
