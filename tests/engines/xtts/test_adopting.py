"""An XTTS of another program becomes a voice that speaks; hostile ones do nothing and leave nothing."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
import soundfile
import torch
from safetensors.torch import load_file, save_file

from engines.errors import EngineError
from engines.xtts import ENGINE, coqui, facts
from engines.xtts import convert as conversion
from engines.xtts.adopting import adopt
from engines.xtts.settings import XttsSettings
from tests.engines.xtts.hostile import CORPUS
from tests.engines.xtts.test_convert import ForkedConverters, contents
from tests.engines.xtts.tiny import hum

PARTS = {
    *("model.safetensors", "config.json", "vocab.json"),
    *("speakers.safetensors", "speakers.json"),
}
# Of a base only: a voice's dvae is not even opened.
OF_THE_DVAE = {"in dvae", "only a text", "a web page"}


@pytest.fixture(scope="module")
def saved(xtts_converted, tmp_path_factory):
    """The same voice as Timbre's own training leaves it."""
    folder = tmp_path_factory.mktemp("saved")
    ENGINE.load(xtts_converted, XttsSettings()).save(folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def into(tmp_path) -> Path:
    (tmp_path / "into").mkdir()
    return tmp_path / "into"


def weights_of(base):
    return torch.load(base / "model.pth", weights_only=True)["model"]


def folder_of(base, folder, *, speakers=True, **model):
    """A folder with the light files of a base and a model in one of its forms."""
    folder.mkdir()
    for name in ("config.json", "vocab.json", *(["speakers_xtts.pth"] if speakers else [])):
        (folder / name).symlink_to(base / name)
    for name, content in model.items():
        if name.endswith("_safetensors"):
            save_file(content, folder / "model.safetensors")
        else:
            torch.save(content, folder / f"{name}.pth")
    return folder


def tuned(base):
    """What xtts-finetune-webui keeps of a checkpoint of coqui's trainer: no optimizer, no dvae."""
    model = {f"xtts.{name}": value for name, value in weights_of(base).items()}
    model["torch_mel_spectrogram_style_encoder.mel_stft.window"] = torch.zeros(3)
    return {"config": {"lr": 5e-6}, "model": model, "step": 7, "date": "2024-05-01"}


def test_what_a_web_interface_leaves_becomes_the_voice_that_timbre_would_save(
    xtts_base, saved, tmp_path, into
):
    folder = folder_of(xtts_base, tmp_path / "ready", model=tuned(xtts_base))
    (folder / "dvae.pth").write_bytes(b"What only trains is not even opened.")

    adopt(folder, into)

    assert {path.name for path in into.iterdir()} == PARTS
    ours, theirs = load_file(saved / "model.safetensors"), load_file(into / "model.safetensors")
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    said = [
        ENGINE.open_voice(each).speak("Rice.", "en", hum(4), 5).samples.tobytes()
        for each in (saved, into)
    ]
    assert said[0] == said[1]


@pytest.mark.parametrize(
    "form", ["best_model of the trainer", "safetensors", "halved", "what Timbre wrote out"]
)
def test_every_form_of_it_comes_in_with_the_same_weights(xtts_base, saved, tmp_path, into, form):
    folder = tmp_path / "theirs"
    if form == "best_model of the trainer":
        beside = {"dvae.encoder.0.0.weight": torch.zeros(3)}
        trained = tuned(xtts_base)
        trained["model"] |= beside
        folder_of(xtts_base, folder, speakers=False, best_model=trained | {"optimizer": {}})
    elif form == "safetensors":
        folder_of(xtts_base, folder, model_safetensors=load_file(saved / "model.safetensors"))
    elif form == "halved":
        old = weights_of(xtts_base)
        folder_of(xtts_base, folder, model={"model": {k: v.half() for k, v in old.items()}})
        del old
    else:
        folder.mkdir()
        soundfile.write(tmp_path / "reference.flac", hum(1).samples, 22050)
        coqui.export(saved, tmp_path / "reference.flac", folder)

    adopt(folder, into)

    found = load_file(into / "model.safetensors")
    for name, value in load_file(saved / "model.safetensors").items():
        wanted = value.half().float() if form == "halved" else value
        assert torch.equal(found[name], wanted), name


def test_mel_stats_are_taken_from_beside_where_the_model_lacks_them(
    xtts_base, saved, tmp_path, into
):
    weights = weights_of(xtts_base)
    stats = weights.pop("mel_stats")
    folder = folder_of(xtts_base, tmp_path / "theirs", model={"model": weights})

    with pytest.raises(EngineError, match="has mel_stats") as caught:
        adopt(folder, into)
    assert facts.HUB_PAGE in caught.value.fix and not [*into.iterdir()]

    torch.save(stats, folder / "mel_stats.pth")
    adopt(folder, into)
    assert {path.name for path in into.iterdir()} == PARTS
    assert torch.equal(load_file(into / "model.safetensors")["mel_stats"], stats)


@pytest.mark.parametrize("name", ["model.pth", "vocab.json"])
def test_what_is_missing_is_named(xtts_base, tmp_path, into, name):
    folder = folder_of(xtts_base, tmp_path / "theirs", model={})
    (folder / name).unlink()

    with pytest.raises(EngineError, match=rf"cannot be taken in\. theirs has no {name}"):
        adopt(folder, into)


def test_nothing_of_where_it_was_made_comes_along(xtts_base, tmp_path, into):
    folder = folder_of(xtts_base, tmp_path / "ready", model=tuned(xtts_base))
    config = json.loads((folder / "config.json").read_text())
    config["output_path"] = config["model_args"]["tokenizer_file"] = "/home/ada/secret"
    config["datasets"] = [{"path": "/home/ada/secret", "language": "de"}]
    (folder / "config.json").unlink()
    (folder / "config.json").write_text(json.dumps(config))

    adopt(folder, into)

    assert "ada" not in (into / "config.json").read_text()


# ---- Hostile ones ----


@pytest.fixture(scope="module")
def outcomes(xtts_base, tmp_path_factory):
    """Every hostile folder taken in, with a converter that has torch in memory once for all."""
    root = tmp_path_factory.mktemp("hostile")
    with ForkedConverters() as forked, pytest.MonkeyPatch.context() as patch:
        patch.setattr(conversion, "_open_where_it_can_do_no_harm", forked.convert)
        found = {name: attempt(name, xtts_base, root / name) for name in CORPUS}
    yield found
    shutil.rmtree(root)


def attempt(name, xtts_base, root):
    folder, into = root / "theirs", root / "into"
    folder.mkdir(parents=True), into.mkdir()
    for file in ("config.json", "vocab.json", "speakers_xtts.pth"):
        shutil.copy(xtts_base / file, folder / file)
    torch.save({"gpt.x": torch.zeros(3), "mel_stats": torch.ones(80)}, folder / "model.pth")
    CORPUS[name][0](folder, root / "canary")
    before = contents(folder)
    try:
        adopt(folder, into)
        error = None
    except Exception as raised:
        error = raised
    others = {path.name for path in root.iterdir()} - {"theirs", "into"}
    changed = contents(folder) != before
    return error, [*others, *contents(into), *(["the folder"] if changed else [])]


@pytest.mark.skipif(sys.platform == "win32", reason="forks, to import torch once for all")
@pytest.mark.parametrize("name", CORPUS)
def test_what_is_no_voice_is_refused_with_words_and_nothing_runs(outcomes, name):
    error, changes = outcomes[name]

    assert isinstance(error, EngineError), repr(error)
    assert error.what.startswith("The voice cannot be taken in. ") and len(error.fix) > 20
    assert name in OF_THE_DVAE or re.search(CORPUS[name][1], error.what), error.what
    assert changes == []


def test_a_hostile_model_is_refused_by_the_process_itself(xtts_base, tmp_path, into):
    folder = folder_of(xtts_base, tmp_path / "theirs")
    CORPUS["os.system"][0](folder, tmp_path / "canary")

    with pytest.raises(EngineError, match="wants to run code"):
        adopt(folder, into)

    assert not (tmp_path / "canary").exists() and not [*into.iterdir()]
