"""Voices of other programs are recognised by their light files, or refused by their name."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from engines import ENGINES, foreign
from engines.errors import EngineError, NotFoundError
from tests.conftest import ROOT


def xtts(folder, **config):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"model": "xtts", **config}))
    return folder


def test_an_xtts_is_recognised_by_its_folder_or_any_file_of_it(tmp_path):
    folder = xtts(tmp_path / "ready")
    (folder / "model.pth").write_bytes(b"")

    for path in (folder, folder / "model.pth", folder / "config.json"):
        found = foreign.recognise(path)
        assert (found.engine, found.folder) == ("xtts", folder)


@pytest.mark.parametrize(
    ("config", "language"),
    [
        ({"languages": ["de"]}, "de"),
        ({"languages": ["en", "de"]}, ""),
        ({"languages": ["en", "de"], "datasets": [{"language": "de"}]}, "de"),
        ({"datasets": [{"language": "de"}, {"language": "en"}], "languages": ["de"]}, "de"),
        ({"languages": ["en"], "datasets": [{"language": "de"}]}, "de"),
        ({"datasets": [{"language": ""}, 7, None]}, ""),
        ({"languages": ["tlh"]}, ""),
        ({"languages": 7, "datasets": "en"}, ""),
        ({"languages": [["en"], {}]}, ""),
    ],
)
def test_a_language_is_told_only_where_there_is_one(tmp_path, config, language):
    assert foreign.recognise(xtts(tmp_path, **config)).language == language


@pytest.mark.parametrize("chosen", ["", "ada.onnx", "ada.onnx.json"])
def test_a_voice_of_piper_is_refused_by_its_name(tmp_path, chosen):
    (tmp_path / "ada.onnx").write_bytes(b"\x08\x09")
    (tmp_path / "ada.onnx.json").write_text('{"espeak": {"voice": "en-us"}}')

    with pytest.raises(EngineError, match=r"ada\.onnx is a voice of Piper: a finished graph"):
        foreign.recognise(tmp_path / chosen)


@pytest.mark.parametrize("config", [None, "[]", "7", '{"model": "vits"}', '{"model": ["xtts"]}'])
def test_what_no_engine_takes_is_refused_with_what_can_be_taken(tmp_path, config):
    if config:
        (tmp_path / "config.json").write_text(config)

    with pytest.raises(EngineError, match="no voice that can be taken in") as caught:
        foreign.recognise(tmp_path)

    assert "config.json, vocab.json and model.pth" in caught.value.fix


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe\x00", b"[" * 200_000])
def test_a_config_that_is_none_is_said_to_be(tmp_path, content):
    (tmp_path / "config.json").write_bytes(content)

    with pytest.raises(EngineError, match=r"config\.json cannot be read"):
        foreign.recognise(tmp_path)


def test_where_nothing_is_nothing_is_recognised(tmp_path):
    with pytest.raises(NotFoundError, match="nothing at"):
        foreign.recognise(tmp_path / "nowhere")


def test_recognising_loads_nothing_heavy():
    code = """
import sys
from engines import foreign
for name in foreign.ADOPTED: foreign.adopting(name)
print(*sorted({each.partition(".")[0] for each in sys.modules}))"""
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert not {"torch", "TTS", "transformers", "safetensors"} & set(told.stdout.split())


def test_every_engine_that_takes_in_is_one_there_is():
    assert foreign.ADOPTED.keys() <= ENGINES.keys()
