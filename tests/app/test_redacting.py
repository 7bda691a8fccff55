"""Nothing private is left in a text that leaves this computer."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.redacting import Private, Redactor, of_this_computer, secrets_in

TEXT = "The kettle sang before the rain came, and nobody was at home to hear it."
CHINESE = "壶在下雨之前响了起来没有人在家"


@pytest.fixture
def clean():
    return Redactor(
        Private(
            names=("Aunt Rosalind", "李明", "Evening voice"),
            texts=(TEXT, CHINESE, "Good evening."),
            places=((Path("/srv/private/anna/timbre-home"), "<workspace>"),),
            secrets=("correct-horse-battery",),
        )
    )


@pytest.mark.parametrize(
    ("said", "private"),
    [
        (f"ValueError: cannot align {TEXT!r}", "kettle"),
        ("cannot align 'The kettle sang before the ra", "kettle sang"),
        ("it said: THE KETTLE  SANG\\nBEFORE", "KETTLE"),
        ("片段：壶在下雨之前响了 失败", "下雨之前"),
        ("heard as Good evening. by Whisper", "Good evening"),
        ("Train Aunt Rosalind failed", "Rosalind"),
        ("Train aunt rosalind failed", "rosalind"),
        ("无法打开李明的录音", "李明"),
        ("logged in with correct-horse-battery", "horse"),
        ("Authorization: Bearer abcDEF123456", "abcDEF"),
        ("GET /?token=abc-def_0123456789&x=1", "abc-def"),
        ("hf_abcdefghijklmnop was refused", "hf_abc"),
        ("https://anna:hunter22@mirror.example/x", "hunter22"),
        ("x = 'Zk3vPq8sT1uW6yB0cD4eF7gH2iJ5kL9m'", "Zk3vPq8"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIB\nabc\n-----END RSA PRIVATE KEY-----", "MIIB"),
        ("/srv/private/anna/timbre-home/projects/1/x.wav", "anna"),
        ("C:\\Users\\Anna\\Music\\interview.wav is broken", "Anna"),
        ('"C:\\\\Users\\\\Anna\\\\Music\\\\one.wav"', "Anna"),
        ("/home/anna/Music/one.wav", "anna"),
        ("/media/usb stick/Interview with Anna.wav", "Interview"),
        ("D:\\Recordings of Anna\\one.wav", "Anna"),
        ("\\\\server\\anna\\one.wav", "server"),
        ("write to anna.k@mail.example now", "anna.k"),
    ],
)
def test_what_is_private_is_not_there_any_more(clean, said, private):
    assert private in said

    assert private not in clean(said)


@pytest.mark.parametrize(
    "said",
    [
        'File "<timbre>/finetune/building.py", line 12, in work',
        'File "/usr/lib/python3.11/json/decoder.py", line 355, in raw_decode',
        "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "step 412 of 980, loss 1.913, 7.9 clips a second, 6 min left",
        "torch 2.11.0+cu130, NVIDIA GeForce RTX 4070, driver 570.124.06",
        "before the rain",
        "9e878639ffcf",
        "and/or, 1/2, https://huggingface.co/coqui/XTTS-v2",
    ],
)
def test_what_helps_to_find_a_fault_stays_word_for_word(clean, said):
    assert clean(said) == said


def test_a_place_in_the_workspace_stays_to_be_recognised(clean):
    said = clean('File "/srv/private/anna/timbre-home/runs/1/log.txt"')

    assert said == 'File "<workspace>/runs/1/log.txt"'


def test_folders_within_others_are_named_before_those(monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: Path("/srv/people/anna"))

    inside = [sign for _, sign in of_this_computer(Path("/srv/people/anna/timbre"))]
    around = [sign for _, sign in of_this_computer(Path("/srv/people"))]

    assert inside.index("<workspace>") < inside.index("~")
    assert around.index("~") < around.index("<workspace>")


def test_a_home_that_is_the_whole_disk_is_in_no_path(monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: Path("/"))

    clean = Redactor(Private(places=of_this_computer(Path("/srv/timbre"))))

    assert clean("/srv/timbre/a and /usr/lib/b") == "<workspace>/a and /usr/lib/b"


def test_where_nobody_has_a_name_nothing_breaks(monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: {}["nobody"])

    assert Redactor(Private())("step 3") == "step 3"


def test_variables_called_like_secrets_are_secrets_and_paths_are_none():
    found = secrets_in({"HF_TOKEN": "hf_123456", "MY_API_KEY": "k-123456", "SSH_AUTH_SOCK": "/a/bcd",
                        "KEYBOARD": "german", "PATH": "/bin", "DB_PASSWORD": "abc"})  # fmt: skip

    assert found == ("hf_123456", "k-123456")
