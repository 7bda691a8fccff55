"""Tests of voices/speaker/process.py and resident.py: the real process, mostly with a real voice."""

import hashlib
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from engines.errors import EngineError, SettingsError, TextError
from tests import finished
from voices.speaker.resident import Resident, shared
from voices.speaker.speaker import Speaker

ROOT = Path(__file__).parents[3]
TEXT = "Good morning, all of you! On page 12."
OTHER = "The keeper lights his lamp. Nobody comes."


@pytest.fixture(scope="module")
def voice(tmp_path_factory):
    folder = finished.voice(tmp_path_factory.mktemp("voices") / "ada")
    return folder, json.loads((folder / "voice.json").read_bytes())


@pytest.fixture(scope="module")
def speaker(tmp_path_factory):
    real = Speaker(tmp_path_factory.mktemp("speaker") / "log.txt")
    yield real
    real.close()


IN_A_JOB = """
import json, sys
from pathlib import Path
from tests.voices.speaker.test_process import TEXT, sum_of
from voices.speaking.joining import Said, joined
from voices.speaking.narrator import Narrator
folder = Path(sys.argv[1])
narrator = Narrator(folder, json.loads((folder / "voice.json").read_bytes()), seed=11, manners={"speed": 1.1})
told = narrator.tell(narrator.sentences(TEXT), lambda: False)
print(json.dumps(sum_of(joined(Said(each.spoken.sound, each.sentence.pause_after_s) for each in told))))
"""


def sum_of(sounds):
    samples = np.concatenate([sound.samples for sound in sounds])
    return len(samples), hashlib.sha256(samples.tobytes()).hexdigest()


def sounds(speech):
    return [piece.sound for piece in speech if piece.sound]


def test_the_same_text_seed_and_voice_are_the_same_samples_as_in_a_job(speaker, voice):
    # In a process of its own: other tests change with how many threads this one computes.
    told = subprocess.run(
        [sys.executable, "-c", IN_A_JOB, str(voice[0])], capture_output=True, text=True, cwd=ROOT
    )
    assert told.returncode == 0, told.stderr[-2000:]
    in_a_job = tuple(json.loads(told.stdout))

    said = []
    for _ in range(2):
        list(speaker.say(*voice, OTHER, seed=2))  # what was said before makes no difference
        said.append(sum_of(sounds(speaker.say(*voice, TEXT, seed=11, manners={"speed": 1.1}))))

    assert said == [in_a_job, in_a_job]


def test_what_is_opened_ahead_is_the_voice_that_then_speaks(speaker, voice):
    speaker.prepare(*voice)
    said = sounds(speaker.say(*voice, "Good morning.", seed=1))

    assert sum_of(said) == sum_of(sounds(speaker.say(*voice, "Good morning.", seed=1)))


def test_another_seed_says_it_otherwise(speaker, voice):
    said = {sum_of(sounds(speaker.say(*voice, "Good morning.", seed=seed))) for seed in (1, 2)}

    assert len(said) == 2


def test_sentences_are_told_of_with_how_they_came_out(speaker, voice):
    pieces = list(speaker.say(*voice, TEXT, seed=3))

    sentences = [piece.sentence for piece in pieces if piece.sentence]
    assert " ".join(each.text for each in sentences) == TEXT
    assert "twelve" in sentences[-1].spoken
    assert all(each.tries >= 1 and each.seconds > 0.3 for each in sentences)


def test_a_pace_beyond_what_the_voice_can_do_is_kept(speaker, voice):
    highest, beyond = (
        sum(sound.seconds for sound in sounds(speaker.say(*voice, TEXT, pace=pace)))
        for pace in (2.0, 3.0)
    )

    assert highest / beyond == pytest.approx(1.5, rel=0.15)


@pytest.mark.parametrize(
    "pace, manners, known, own, rest",
    [
        (1.0, {}, {"speed": (0.5, 1, 2)}, {}, 1.0),
        (1.5, {}, {"speed": (0.5, 1, 2)}, {"speed": 1.5}, 1.0),
        (4.0, {"heat": 1}, {"speed": (0.5, 1, 2)}, {"heat": 1, "speed": 2}, 2.0),
        (0.25, {}, {"speed": (0.5, 1, 2)}, {"speed": 0.5}, 0.5),
        (2.0, {"speed": 1.5}, {"speed": (0.5, 1, 2)}, {"speed": 2}, 1.5),
        (2.0, {"heat": 1}, {"heat": (0, 1, 2)}, {"heat": 1}, 2.0),
    ],
)
def test_a_pace_is_the_voices_own_as_far_as_it_goes(pace, manners, known, own, rest):
    assert shared(pace, manners, known) == (own, rest)


def test_what_was_learned_of_one_text_is_forgotten_before_the_next(voice):
    resident = Resident(*voice)
    resident.begin(0, {}, 1.0)
    list(resident.tell(resident.sentences(OTHER), lambda: False))
    assert resident._known

    resident.begin(0, {}, 1.0)

    assert not resident._known


@pytest.mark.parametrize(
    "text, more, error",
    [
        ("...", {}, TextError),
        ("Hello.", {"language": "xx"}, EngineError),
        ("Hello.", {"manners": {"speed": 9.0}}, SettingsError),
        ("Hello.", {"manners": {"height": 9.0}}, SettingsError),
    ],
)
def test_what_cannot_be_said_is_the_error_that_it_was(speaker, voice, text, more, error):
    with pytest.raises(error):
        list(speaker.say(*voice, text, **more))


def test_a_voice_that_cannot_be_opened_says_so_and_the_next_one_speaks(speaker, voice, tmp_path):
    damaged = finished.voice(tmp_path / "damaged")
    (damaged / "engine" / "model.safetensors").unlink()

    with pytest.raises(EngineError, match="cannot be opened"):
        list(speaker.say(damaged, voice[1], "Hello."))

    assert sounds(speaker.say(*voice, "Hello."))


def test_texts_of_odd_signs_are_said_or_refused_in_words(speaker, voice):
    chance = random.Random(5)
    signs = "aé\x00\u200b\ud83d\ude00中…—\"'\n\t#0%€½."
    for _ in range(8):
        text = "".join(chance.choices(signs, k=chance.randint(1, 9)))
        try:
            list(speaker.say(*voice, text))
        except TextError:
            continue

    assert sounds(speaker.say(*voice, "Hello."))


def test_a_sentence_that_nobody_wants_any_more_is_broken_off_within_a_second(tmp_path):
    folder = finished.voice(tmp_path / "slow")
    log = tmp_path / "log.txt"
    speaker = Speaker(log, command=(sys.executable, "-m", "tests.voices.speaker.slow"))
    speech = speaker.say(folder, {"language": "en"}, "The first one. Then slowly.")
    next(speech)
    while "slowly" not in (folder / "begun").read_text():
        time.sleep(0.01)

    closed = time.time()
    speech.close()
    after = list(speaker.say(folder, {"language": "en"}, "Another one."))

    what, when = (folder / "stopped").read_text().split()
    assert what == "_Cancelled"
    assert float(when) - closed < 1
    assert sounds(after)
    assert "an engine that prints" in log.read_text()
    speaker.close()


def test_the_process_ends_in_the_middle_of_a_sentence_when_its_owner_is_killed(tmp_path):
    folder = finished.voice(tmp_path / "slow")
    code = f"""if True:
        import sys
        from pathlib import Path
        from voices.speaker.speaker import Speaker
        command = (sys.executable, "-m", "tests.voices.speaker.slow")
        speaker = Speaker(Path({str(tmp_path / "log.txt")!r}), command=command)
        speech = speaker.say(Path({str(folder)!r}), {{"language": "en"}}, "One. Then slowly.")
        print(next(speech) and speaker.pid, flush=True)
        list(speech)"""
    argv = [sys.executable, "-c", code]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as owner:
        child = psutil.Process(int(owner.stdout.readline()))
        while "slowly" not in (folder / "begun").read_text():
            time.sleep(0.01)

        owner.send_signal(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
        owner.wait(10)

    _, alive = psutil.wait_procs([child], timeout=3)
    assert not alive


def test_the_owner_never_loads_torch():
    code = (
        "import voices.speaker.speaker, voices.speaker.process, sys; print('torch' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)

    assert done.stdout == "False\n"
