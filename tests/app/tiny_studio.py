"""A studio with one small page, run as a program by the tests beside it.

python -m tests.app.tiny_studio PORT FOLDER [hold] [fail] [exact]
  hold   build the page only once FOLDER/go exists
  fail   fail to build it
  exact  insist on the port
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from app.door import rules_for
from app.front import Front
from app.server import PageOptions, serve
from engines.errors import StudioError


def build(folder: Path, words: list[str]):
    """Build a page with one handler that streams and one that does not return."""
    while "hold" in words and not (folder / "go").exists():
        time.sleep(0.02)
    if "fail" in words:
        raise StudioError("The page <b>broke</b>.", "Mend it.")
    import gradio as gr

    def count(name: str):
        (folder / "handled").touch()
        for number in range(4):
            yield f"{name} {number}"
            time.sleep(0.15)

    def sleep():
        time.sleep(60)
        return "late"

    with gr.Blocks(title="Tiny studio") as blocks:
        name = gr.Textbox("clip", label="Name")
        heard = gr.Textbox(label="Heard")
        gr.Button("Count", variant="primary").click(count, name, heard, api_name="count")
        gr.Button("Sleep").click(sleep, None, heard, api_name="sleep")
        gr.File(label="Recording")
    return blocks


def main(port: str, folder: str, *words: str) -> None:
    """Serve the page until the process is asked to end."""
    home = Path(folder)
    front = Front(rules_for("127.0.0.1", int(port)), lambda: {"program": "tiny"})
    assert not {"gradio", "fastapi", "torch"} & set(sys.modules), "the server must import lightly"
    options = PageOptions(home / "scratch", max_upload="20kb")
    try:
        serve(
            front,
            lambda: build(home, list(words)),
            options,
            exact_port="exact" in words,
            on_ready=lambda url: print(url, flush=True),
        )
    except StudioError as problem:
        sys.exit(f"{problem.what} | {problem.fix}")
    print("stopped", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
