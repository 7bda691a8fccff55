"""Bases of all kinds of owners become safetensors and JSON; hostile ones do nothing."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from engines.errors import EngineError
from engines.xtts import convert as conversion
from engines.xtts import facts
from engines.xtts.convert import CONVERTED, Limits, clean_config, convert
from tests.engines.xtts.hostile import CORPUS
from tests.engines.xtts.tiny import make_dvae, tiny_config

CONVERTER = Path(conversion.__file__).with_name("converter.py")


@pytest.fixture
def base(xtts_base, tmp_path) -> Path:
    """A base that a test may change."""
    folder = tmp_path / "base"
    folder.mkdir()
    for file in xtts_base.iterdir():
        (folder / file.name).symlink_to(file)
    return folder


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "converted").mkdir()
    return tmp_path / "converted"


def replace(path: Path, content: object) -> None:
    path.unlink()
    torch.save(content, path)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def read_weights(base: Path) -> dict[str, torch.Tensor]:
    return torch.load(base / "model.pth", weights_only=True)["model"]


# -- Bases of real users -----------------------------------------------------------------------


def test_nothing_but_safetensors_and_json_comes_out(xtts_converted):
    assert {path.name for path in xtts_converted.iterdir()} == set(CONVERTED)


def test_every_weight_comes_out_as_it_was(xtts_base, xtts_converted):
    before, after = read_weights(xtts_base), load_file(xtts_converted / "model.safetensors")
    dvae = torch.load(xtts_base / "dvae.pth", weights_only=True)
    kept = load_file(xtts_converted / "dvae.safetensors")

    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert all(torch.equal(dvae[name], kept[name]) for name in kept) and len(kept) > 20


def test_speakers_keep_their_names_and_values(xtts_base, xtts_converted):
    from engines.xtts import loading

    before = torch.load(xtts_base / "speakers_xtts.pth", weights_only=True)
    after = loading.speakers(xtts_converted)

    assert list(after) == ["Ada Ash", "Ben Beech"]
    for name, parts in before.items():
        assert parts.keys() == after[name].keys()
        assert all(torch.equal(parts[part], after[name][part]) for part in parts)


def test_the_first_v2_checkpoints_with_their_config_as_an_object_come_in(base, folder):
    from tests.engines.xtts.tiny import Xtts, write_model

    config = tiny_config(base / "vocab.json", dim=64, layers=2, heads=2)
    model = Xtts(config)
    (base / "model.pth").unlink()
    write_model(base / "model.pth", model, old_pickles=True)

    convert(base, folder)

    after = load_file(folder / "model.safetensors")
    assert all(torch.equal(value, after[name]) for name, value in model.state_dict().items())


def test_a_checkpoint_of_coquis_trainer_comes_in_without_what_it_keeps_beside(
    base, folder, xtts_converted
):
    weights = {f"xtts.{name}": value for name, value in read_weights(base).items()}
    beside = {
        "dvae.encoder.0.0.weight": torch.zeros(3),
        "torch_mel_spectrogram_style_encoder.mel_stft.window": torch.zeros(3),
        "torch_mel_spectrogram_dvae.mel_stft.window": torch.zeros(3),
    }
    trained = {"config": {"lr": 5e-6}, "model": weights | beside, "optimizer": {}, "step": 7}
    replace(base / "model.pth", trained)
    (base / "model.pth").rename(base / "best_model.pth")
    (base / "speakers_xtts.pth").unlink()

    convert(base, folder)

    after, same = folder / "model.safetensors", xtts_converted / "model.safetensors"
    assert after.read_bytes() == same.read_bytes()
    assert json.loads((folder / "speakers.json").read_text()) == []


def test_what_speaks_with_the_network_and_older_names_are_put_right(base, folder, xtts_converted):
    old = {}
    for name, value in read_weights(base).items():
        name = name.replace(".parametrizations.weight.original0", ".weight_g")
        old[name.replace(".parametrizations.weight.original1", ".weight_v")] = value
    old["gpt.gpt_inference.lm_head.0.weight"] = torch.zeros(3)
    old["gpt.gpt.wte.weight"] = old["gpt.mel_embedding.weight"]
    old["gpt.gpt.h.0.attn.bias"] = torch.ones(1, 1, 8, 8, dtype=torch.bool)
    old["gpt.gpt.h.0.attn.masked_bias"] = torch.tensor(-1e4)
    replace(base / "model.pth", {"model": old})

    convert(base, folder)

    after, same = folder / "model.safetensors", xtts_converted / "model.safetensors"
    assert after.read_bytes() == same.read_bytes()


def test_halved_weights_are_made_whole(base, folder):
    halved = {name: value.half() for name, value in read_weights(base).items()}
    replace(base / "model.pth", {"model": halved})

    convert(base, folder)

    after = load_file(folder / "model.safetensors")
    assert after["gpt.mel_head.weight"].dtype == torch.float32
    assert torch.equal(after["gpt.mel_head.weight"], halved["gpt.mel_head.weight"].float())


def test_a_converted_base_is_a_base_too(xtts_converted, folder):
    convert(xtts_converted, folder)

    assert contents(folder) == contents(xtts_converted)


@pytest.mark.parametrize(
    "name", ["model.pth", "config.json", "vocab.json", "dvae.pth", "mel_stats.pth"]
)
def test_a_missing_file_is_named_with_where_to_take_it(base, folder, name):
    (base / name).unlink()

    with pytest.raises(EngineError, match=f"base has no {name}") as caught:
        convert(base, folder)

    assert facts.HUB_PAGE in caught.value.fix


# -- The config --------------------------------------------------------------------------------


@pytest.fixture
def config(xtts_base):
    return json.loads((xtts_base / "config.json").read_text())


def test_no_path_and_nothing_unknown_is_kept_of_the_config(config):
    config["output_path"] = config["model_args"]["tokenizer_file"] = "/home/ada/secret"
    config["model_args"]["dvae_checkpoint"] = config["audio"]["stats_path"] = "/home/ada/secret"
    config["datasets"] = [{"path": "/home/ada/secret"}]

    clean = clean_config(config)

    assert "ada" not in json.dumps(clean)
    assert clean["model_args"]["gpt_layers"] == 2 and clean["repetition_penalty"] == 5.0


def test_a_base_of_v1_is_refused_by_name(config):
    config["model_args"]["gpt_use_perceiver_resampler"] = False

    with pytest.raises(EngineError, match="XTTS v1"):
        clean_config(config)


@pytest.mark.parametrize("value", [10**9, -1, "30", [30], {}, float("nan"), float("inf")])
def test_a_number_that_no_xtts_has_is_refused(config, value):
    config["model_args"]["gpt_layers"] = value

    with pytest.raises(EngineError, match="gpt_layers"):
        clean_config(config)


@pytest.mark.parametrize("part", ["languages", "audio"])
@pytest.mark.parametrize("value", [7, "en", None, [None], {}])
def test_a_part_of_another_kind_is_no_crash(config, part, value):
    config[part] = value

    clean = clean_config(config)

    assert clean["languages"] and isinstance(clean["audio"], dict)


# -- What does not fit together ----------------------------------------------------------------


def test_weights_of_another_size_are_named_with_both_sizes(base, folder, config):
    config["model_args"]["gpt_layers"] = 3
    (base / "config.json").unlink()
    (base / "config.json").write_text(json.dumps(config))

    with pytest.raises(EngineError, match=r"gpt\.gpt\.h\.2\.\S+ is not there, and") as caught:
        convert(base, folder)

    assert "same place" in caught.value.fix


def test_a_dvae_with_another_codebook_is_refused(base, folder):
    config = tiny_config(base / "vocab.json", dim=64, layers=2, heads=2)
    config.model_args.gpt_num_audio_tokens = 514
    replace(base / "dvae.pth", make_dvae(config).state_dict())

    with pytest.raises(EngineError, match=r"codebook.* is 512, and 1024 is expected"):
        convert(base, folder)

    assert not [*folder.iterdir()]


# -- Hostile ones ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def outcomes(xtts_base, tmp_path_factory):
    """Every hostile base converted, as ever but for what one process imports once for all."""
    root = tmp_path_factory.mktemp("hostile")
    with ForkedConverters() as forked, pytest.MonkeyPatch.context() as patch:
        patch.setattr(conversion, "_open_where_it_can_do_no_harm", forked.convert)
        found = {name: attempt(name, xtts_base, root / name) for name in CORPUS}
    yield found
    shutil.rmtree(root)


class ForkedConverters:
    """The converter, with torch in memory: a fork of it carries out each order."""

    CODE = """
import importlib.util, json, os, sys
spec = importlib.util.spec_from_file_location("converter", sys.argv[1])
converter = importlib.util.module_from_spec(spec); spec.loader.exec_module(converter)
converter.leave_the_network()
converter.get_ready()
for line in sys.stdin:
    if not (child := os.fork()):
        converter.obey(json.loads(line))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps({"code": code}), flush=True)
"""

    def __enter__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-c", self.CODE, CONVERTER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *error):
        self.process.communicate("")

    def convert(self, sources, folder, limits):
        paths = {name: str(path) for name, path in sources.items()}
        order = json.dumps({"sources": paths, "target": str(folder)})
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        answer = ""
        while not (line := self.process.stdout.readline()).startswith('{"code"'):
            assert line, "the converter is gone"
            answer += line
        conversion._raise_what_it_said(json.loads(line)["code"], answer.encode())


def attempt(name, xtts_base, root):
    """Convert one hostile base: what was raised, and what else is different afterwards."""
    base, folder = root / "base", root / "folder"
    base.mkdir(parents=True), folder.mkdir()
    for file in ("config.json", "vocab.json", "mel_stats.pth", "speakers_xtts.pth"):
        shutil.copy(xtts_base / file, base / file)
    torch.save({"encoder.x": torch.zeros(3)}, base / "dvae.pth")
    torch.save({"gpt.x": torch.zeros(3)}, base / "model.pth")
    CORPUS[name][0](base, root / "canary")
    before = contents(base)
    try:
        convert(base, folder)
        error = None
    except Exception as raised:
        error = raised
    others = {path.name for path in root.iterdir()} - {"base", "folder"}
    changed = contents(base) != before
    return error, [*others, *contents(folder), *(["the base"] if changed else [])]


@pytest.mark.skipif(sys.platform == "win32", reason="forks, to import torch once for all")
@pytest.mark.parametrize("name", CORPUS)
def test_what_is_no_base_is_refused_with_words_and_nothing_runs(outcomes, name):
    error, changes = outcomes[name]

    assert isinstance(error, EngineError), repr(error)
    assert re.search(CORPUS[name][1], error.what), error.what
    assert len(error.fix) > 20 and "Traceback" not in str(error)
    assert changes == []


def test_a_hostile_base_is_refused_by_the_process_itself(base, folder, tmp_path):
    CORPUS["in mel_stats"][0](_unlinked(base, "mel_stats.pth"), tmp_path / "canary")

    with pytest.raises(EngineError, match="wants to run code"):
        convert(base, folder)

    assert not (tmp_path / "canary").exists() and not [*folder.iterdir()]


def _unlinked(base: Path, name: str) -> Path:
    (base / name).unlink()
    return base


# -- The process that opens them ---------------------------------------------------------------

TRY = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("converter", sys.argv[1])
converter = importlib.util.module_from_spec(spec); spec.loader.exec_module(converter)
from pathlib import Path
import os, socket, subprocess, shutil, ctypes
target, elsewhere = Path(sys.argv[2]), Path(sys.argv[3])
(target / "old").write_text("x"); (elsewhere / "old").write_text("x")
sys.addaudithook(converter.guard(target))
(target / "new").write_text("inside")
{attempt}
"""
ATTEMPTS = {
    "socket": "socket.socket()",
    "a look-up": "socket.getaddrinfo('localhost', 80)",
    "a program": "subprocess.run(['touch', str(elsewhere / 'new')])",
    "a shell": "os.system(f'touch {elsewhere}/new')",
    "exec": "os.execv('/usr/bin/touch', ['touch', str(elsewhere / 'new')])",
    "a fork": "os.fork()",
    "a file": "(elsewhere / 'new').write_text('x')",
    "a file by its number": "os.open(elsewhere / 'new', os.O_CREAT | os.O_WRONLY)",
    "a file over ..": "open(f'{target}/../elsewhere/new', 'w')",
    "appending": "open(elsewhere / 'old', 'a')",
    "removing": "(elsewhere / 'old').unlink()",
    "renaming": "(elsewhere / 'old').rename(elsewhere / 'new')",
    "a link": "(target / 'link').symlink_to(elsewhere)",
    "a library": "ctypes.CDLL('libc.so.6')",
    "a signal": "os.kill(os.getppid(), 0)",
    "a real pickle": "import pickle; pickle.loads(b'cos\\nsystem\\n.')",
}


@pytest.mark.skipif(sys.platform == "win32", reason="the attempts are written for POSIX")
@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_whatever_reaches_out_of_the_process_ends_it(tmp_path, python, attempt):
    target, elsewhere = tmp_path / "target", tmp_path / "elsewhere"
    target.mkdir(), elsewhere.mkdir()
    code = TRY.replace("{attempt}", ATTEMPTS[attempt]) + "\nprint('survived')"

    ended = subprocess.run(
        [python, "-I", "-c", code, CONVERTER, target, elsewhere],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == facts.REACHED_OUT, ended.stderr
    assert "survived" not in ended.stdout and json.loads(ended.stdout)
    assert [path.name for path in elsewhere.iterdir()] == ["old"]
    assert (target / "new").read_text() == "inside"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has networks of one process")
def test_it_has_no_network_at_all(python):
    code = TRY.partition("from pathlib")[0] + (
        "import os\nbefore = os.readlink('/proc/self/ns/net')\nconverter.leave_the_network()\n"
        "print(before != os.readlink('/proc/self/ns/net'))\n"
        "print(open('/proc/self/net/dev').read().count(':'))"
    )

    told = subprocess.run(
        [python, "-I", "-c", code, CONVERTER], capture_output=True, text=True, check=True
    )

    if told.stdout.startswith("False"):
        pytest.skip("this system does not let a process leave the network")
    assert told.stdout.split()[1] == "1"  # the loopback of its own


def test_it_learns_nothing_of_tokens_and_proxies(base, folder, monkeypatch):
    for name in ("HF_TOKEN", "HTTPS_PROXY", "TIMBRE_TOKEN", "HOME"):
        monkeypatch.setenv(name, "secret")
    seen = []
    start = subprocess.Popen
    monkeypatch.setattr(
        subprocess,
        "Popen",
        lambda command, **how: seen.append((command, how)) or start(command, **how),
    )

    convert(base, folder)

    ((command, how),) = seen
    assert "secret" not in json.dumps([command, how["env"]])
    assert command[1] == "-I" and how["stdin"] == subprocess.DEVNULL


@pytest.mark.parametrize(
    ("limits", "what"),
    [
        (Limits(grace_seconds=0, seconds_per_mb=0), "time"),
        (Limits(memory_mb=1, memory_per_byte=0), "memory"),
    ],
)
def test_it_is_ended_when_it_takes_more_than_any_base_needs(base, folder, limits, what):
    with pytest.raises(EngineError, match=f"more {what} than any XTTS needs"):
        convert(base, folder, limits)

    assert not [*folder.iterdir()]


def test_however_it_ends_is_said_in_words(base, folder, monkeypatch, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("import os; os.abort()")
    monkeypatch.setattr(conversion, "_CONVERTER", broken)

    with pytest.raises(EngineError, match="its reader ended with code"):
        convert(base, folder)


def test_a_failure_leaves_the_folder_empty(base, folder, monkeypatch):
    def refuse(folder: Path) -> None:
        raise EngineError("It does not fit.", "Choose another.")

    monkeypatch.setattr(conversion, "_refuse_what_does_not_fit", refuse)

    with pytest.raises(EngineError, match="does not fit"):
        convert(base, folder)

    assert not [*folder.iterdir()]


def test_safetensors_of_another_maker_come_in(base, folder, xtts_converted):
    (base / "model.pth").unlink()
    weights = load_file(xtts_converted / "model.safetensors")
    save_file(
        {f"xtts.{name}": value for name, value in weights.items()}, base / "model.safetensors"
    )

    convert(base, folder)

    after, same = folder / "model.safetensors", xtts_converted / "model.safetensors"
    assert after.read_bytes() == same.read_bytes()
