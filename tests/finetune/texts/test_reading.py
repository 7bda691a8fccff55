"""Files as people and programs really write them: what is read, and what is said of the rest."""

from __future__ import annotations

import random

import pytest

from engines.errors import NotFoundError, TextError
from finetune.texts.reading import read
from finetune.texts.records import Line

BOM = "\ufeff"
CODECS = ["utf-8", "utf-16", "utf-16-le", "gb18030"]
SRT = "1\n00:00:01,000 --> 00:00:02,500\nHello there.\n\n2\n00:00:03,000 --> 00:00:04,000\nBye.\n"
# name, content, format, (audio, text) of each line, numbers of the problems
FILES = {
    "LJSpeech as published": (
        "LJ001-0001|Printing, in 1455|Printing, in fourteen fifty-five\n",
        "ljspeech",
        [("LJ001-0001", "Printing, in fourteen fifty-five")],
        [],
    ),
    "LJSpeech with quotation marks that are text": (
        'a|"Yes."|"Yes."\nb|He said "no"|He said "no"\nc|"Open|"Open\nd|Last|Last\n',
        "ljspeech",
        [("a", '"Yes."'), ("b", 'He said "no"'), ("c", '"Open'), ("d", "Last")],
        [],
    ),
    "LJSpeech by way of Python's csv": (
        'a|"He said ""no""."|"He said ""no""."\nb|Plain.|Plain.\n',
        "ljspeech",
        [("a", 'He said "no".'), ("b", "Plain.")],
        [],
    ),
    "LJSpeech with an empty third column": (
        "a|One two.|\nb|Three.|\n",
        "ljspeech",
        [("a", "One two."), ("b", "Three.")],
        [],
    ),
    "LJSpeech from Windows with a mark and a last line cut short": (
        BOM + "a|Eins.|Eins.\r\nb|Zwei.|Zwei.\r\nc",
        "ljspeech",
        [("a", "Eins."), ("b", "Zwei.")],
        [3],
    ),
    "LJSpeech from an old Mac": (
        "a|One.|One.\rb|Two.|Two.\r",
        "ljspeech",
        [("a", "One."), ("b", "Two.")],
        [],
    ),
    "LJSpeech with a pipe in a text": (
        "a|x|x\nb|y|y\nc|z | z|z | z\nd|w|w\n",
        "ljspeech",
        [("a", "x"), ("b", "y"), ("d", "w")],
        [3],
    ),
    "LJSpeech with a row without text": (
        "a|x y|x y\nb||\nc|z w|z w\n",
        "ljspeech",
        [("a", "x y"), ("b", ""), ("c", "z w")],
        [2],
    ),
    "AllTalk": (
        "audio_file|text|speaker_name\nwavs/a_00000001.wav|Hello, you.|coqui\n"
        'wavs/b.wav|"He said ""no"" | yes."|coqui\n',
        "xtts",
        [("wavs/a_00000001.wav", "Hello, you."), ("wavs/b.wav", 'He said "no" | yes.')],
        [],
    ),
    "AllTalk with quotation marks that do not pair": (
        'audio_file|text|speaker_name\na.wav|"Hello|me\nb.wav|Bye|me\nc.wav|"So" he said|me\n',
        "xtts",
        [("a.wav", '"Hello'), ("b.wav", "Bye"), ("c.wav", '"So" he said')],
        [],
    ),
    "AllTalk where a mark swallows a row": (
        'audio_file|text|speaker_name\na.wav|"Hello|me\nb.wav|Bye"|me\n',
        "xtts",
        [("a.wav", "Hello|me\nb.wav|Bye")],
        [2],
    ),
    "AllTalk with missing and extra columns": (
        "audio_file|text|speaker_name\na.wav|Hi\nb.wav|Yes|me\nc.wav|x|y|me\n|No|me\n",
        "xtts",
        [("b.wav", "Yes")],
        [2, 4, 5],
    ),
    "AllTalk with its columns in another order": (
        "speaker_name|audio_file|text\nme|a.wav|Hi\n",
        "xtts",
        [("a.wav", "Hi")],
        [],
    ),
    "XTTS without its header": (
        "wavs/a.wav|Hello there you|me\nwavs/b.wav|And you too|me\n",
        "xtts",
        [("wavs/a.wav", "Hello there you"), ("wavs/b.wav", "And you too")],
        [],
    ),
    "F5 as its page prepares it": (
        "audio_file|text\n/data/a.wav|Hi there\n/data/b.wav|Bye\n",
        "f5",
        [("/data/a.wav", "Hi there"), ("/data/b.wav", "Bye")],
        [],
    ),
    "F5 with Windows paths": (
        BOM + "audio_file|text\r\nC:\\me\\wavs\\a.wav|Hi\r\n",
        "f5",
        [("C:\\me\\wavs\\a.wav", "Hi")],
        [],
    ),
    "Piper": (
        "a|First text.\nb|Second text.\n",
        "piper",
        [("a", "First text."), ("b", "Second text.")],
        [],
    ),
    "Piper with marks that a person typed": (
        'a.wav|"All of it."\nb.wav|Plain.\n',
        "piper",
        [("a.wav", '"All of it."'), ("b.wav", "Plain.")],
        [],
    ),
    "Piper with marks around every text": (
        'a.wav|"One."\nb.wav|"Two, ""three""."\n',
        "piper",
        [("a.wav", "One."), ("b.wav", 'Two, "three".')],
        [],
    ),
    "Piper with speakers": (
        "a.wav|ann|First long text.\nb.wav|bob|Second text.\nc.wav|ann|Third text.\n"
        "d.wav|ann|Fourth.\n",
        "piper",
        [("a.wav", "First long text."), ("b.wav", "Second text."), ("c.wav", "Third text."),
         ("d.wav", "Fourth.")],
        [],
    ),
    "Piper with names that have spaces": (
        "my take 1.wav|First text.\nmy take 2.wav|Second.\n",
        "piper",
        [("my take 1.wav", "First text."), ("my take 2.wav", "Second.")],
        [],
    ),
    "audiofolder as lines of JSON": (
        '{"file_name": "a.mp3", "transcription": "Hé | \\n"}\n{"file_name": "b.mp3", "text": "B"}\n',
        "audiofolder",
        [("a.mp3", "Hé | \n"), ("b.mp3", "B")],
        [],
    ),
    "lines of JSON with bad ones among them": (
        '{"file_name": "a.mp3", "text": "A"}\n{"file_name": "b.mp3", "text": }\n\n'
        '{"text": "C"}\n{"file_name": "d.mp3", "text": 4}\n[1]\n{"file_name": "e.mp3", "text": "E"}\n',
        "audiofolder",
        [("a.mp3", "A"), ("e.mp3", "E")],
        [2, 4, 5, 6],
    ),
    "a manifest of NeMo": (
        '{"audio_filepath": "x/a.wav", "duration": 1.2, "text": "hello"}\n',
        "audiofolder",
        [("x/a.wav", "hello")],
        [],
    ),
    "audiofolder as csv": (
        'file_name,transcription\nclips/a.wav,"Hello, you"\nclips/b.wav,Bye\n',
        "audiofolder",
        [("clips/a.wav", "Hello, you"), ("clips/b.wav", "Bye")],
        [],
    ),
    "csv from a German Excel": (
        "file_name;text\r\na.wav;Grüße, alle\r\n",
        "audiofolder",
        [("a.wav", "Grüße, alle")],
        [],
    ),
    "Common Voice": (
        "client_id\tpath\tsentence\tup_votes\n9f\tcv_1.mp3\tHello, \"you\".\t2\n",
        "table",
        [("cv_1.mp3", 'Hello, "you".')],
        [],
    ),
    "tabs without a header": (
        "a.wav\tHello, you.\nb.wav\tBye.\n",
        "table",
        [("a.wav", "Hello, you."), ("b.wav", "Bye.")],
        [],
    ),
    "commas without a header and in the texts": (
        "a.wav,Hello, you there.\nb.wav,Bye.\n",
        "table",
        [("a.wav", "Hello, you there."), ("b.wav", "Bye.")],
        [],
    ),
    "commas and speakers without a header": (
        'a.wav,ann,"Hello, you there."\nb.wav,ann,Bye for now.\n',
        "table",
        [("a.wav", "Hello, you there."), ("b.wav", "Bye for now.")],
        [],
    ),
    "srt": (SRT, "srt", [("file", "Hello there."), ("file", "Bye.")], []),
    "srt from Windows with a mark": (
        BOM + SRT.replace("\n", "\r\n"),
        "srt",
        [("file", "Hello there."), ("file", "Bye.")],
        [],
    ),
    "srt without numbers and blank lines": (
        "00:00:01.0 --> 00:00:02.0\nOne\n00:00:02.0 --> 00:00:03.0\nTwo\n",
        "srt",
        [("file", "One"), ("file", "Two")],
        [],
    ),
    "srt with markup, two lines, a blank one and a heart": (
        "1\n0:00:01,0 --> 0:00:02,0 X1:1\n<i>One</i>\n\n{\\an8}two <3\n\n2\n0:00:03,0 --> 0:00:04,0\n"
        "a < b > c\n",
        "srt",
        [("file", "One two <3"), ("file", "a < b > c")],
        [],
    ),
    "srt that runs backwards, has empty cues and lost text": (
        "Lost\n\n1\n00:00:05,000 --> 00:00:04,000\nBack\n\n2\n00:00:06,000 --> 00:00:07,000\n\n"
        "3\n00:00:08,000 --> 00:00:09,000\nFine\n",
        "srt",
        [("file", "Fine")],
        [1, 4, 8],
    ),
    "vtt": (
        "WEBVTT - talk\n\nNOTE nobody\nsees this\n\nSTYLE\n::cue { color: red }\n\nintro\n"
        "00:01.000 --> 00:02.500 align:start\n<v Ann>Fish &amp; <b>chips</b></v>\n\n"
        "NOTE between\n\n01:00:03.000 --> 01:00:04.000\n<00:00:01.000><c>Bye</c>\n",
        "vtt",
        [("file", "Fish & chips"), ("file", "Bye")],
        [],
    ),
    "a script": (
        "Chapter one\n\nIt was a dark night. The dog | barked.\nNobody came, 1,2,3.\n",
        "script",
        [("", "Chapter one"), ("", "It was a dark night. The dog | barked."),
         ("", "Nobody came, 1,2,3.")],
        [],
    ),
    "a script in Chinese": (
        "今天天气很好，我们去公园吧。\n你好！\n",
        "script",
        [("", "今天天气很好，我们去公园吧。"), ("", "你好！")],
        [],
    ),
    "a play with colons, brackets and semicolons": (
        "[Enter ANN]\nANN: Well; so be it, then.\nBOB: {Aside} No\tnever.\n",
        "script",
        [("", "[Enter ANN]"), ("", "ANN: Well; so be it, then."), ("", "BOB: {Aside} No\tnever.")],
        [],
    ),
    "one line": ("Hello", "script", [("", "Hello")], []),
    "a script with line separators of Unicode": (
        "One\u2028two\nthree\x85four\n",
        "script",
        [("", "One\u2028two"), ("", "three\x85four")],
        [],
    ),
    "a header and nothing else": ("audio_file|text|speaker_name\n", "xtts", [], [0]),
    "only times": ("WEBVTT\n\n", "vtt", [], [0]),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("ending", ["txt", "csv"])
def test_a_file_is_recognised_by_its_content_and_read(name, ending, tmp_path):
    content, format, wanted, numbers = FILES[name]
    path = tmp_path / f"file.{ending}"
    path.write_bytes(content.encode())

    found = read(path)

    assert found.format == format
    assert [(line.audio, line.text) for line in found.lines] == wanted
    assert [problem.number for problem in found.problems] == numbers
    assert all(problem.sentence.endswith((".", "?")) for problem in found.problems)
    assert {problem.file for problem in found.problems} <= {path.name}


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-8-sig"])
@pytest.mark.parametrize("name", FILES)
def test_the_same_files_in_other_encodings_say_the_same(name, codec, tmp_path):
    content, format, wanted, _ = FILES[name]
    path = tmp_path / "file.txt"
    path.write_bytes(content.removeprefix(BOM).encode(codec))

    found = read(path)

    assert found.format == format
    assert [(line.audio, line.text) for line in found.lines] == wanted


def test_the_numbers_count_lines_also_after_a_text_of_several_lines(tmp_path):
    path = tmp_path / "metadata.csv"
    path.write_bytes(b'audio_file|text\r\na.wav|"one\r\ntwo"\r\n\r\nb.wav|x|y\r\nc.wav|z\r\n')

    found = read(path)

    assert [line.number for line in found.lines] == [2, 6]
    assert [problem.number for problem in found.problems] == [5]


def test_subtitles_have_times_speakers_and_their_own_name(tmp_path):
    path = tmp_path / "My talk.vtt"
    path.write_text("WEBVTT\n\n01:02:03.250 --> 01:02:04.500\n<v Ann B>Hi\n")

    found = read(path)

    assert found.lines == (Line(3, "My talk", "Hi", "Ann B", 3723.25, 3724.5, "", "My talk.vtt"),)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is nothing in"),
        (b"\n \n\t", "is nothing in"),
        (b"\xef\xbb\xbf", "is nothing in"),
        (b"\0" * 100, "is nothing in"),
        (b"RIFF\x24\0\0\0WAVE", "is a recording"),
        (b"ID3\x04rest", "is a recording"),
        (b"PK\x03\x04xlsx", "Office document"),
        (b"%PDF-1.7", "is a PDF"),
        (b"{\\rtf1 Hello}", "formatted document"),
        (bytes(range(256)) * 4, "is no text"),
    ],
)
def test_what_is_no_text_is_refused_with_a_sentence(content, message, tmp_path):
    path = tmp_path / "metadata.csv"
    path.write_bytes(content)

    with pytest.raises(TextError, match=message):
        read(path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(NotFoundError, match="There is no"):
        read(tmp_path / "none.csv")


def test_an_unknown_encoding_is_refused(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("x")

    with pytest.raises(TextError, match="cannot be read as klingon"):
        read(path, "klingon")


def fill(folder, **files):
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def test_texts_beside_recordings_are_read_and_each_one_alone_is_named(tmp_path):
    fill(tmp_path, a_wav="", a_lab="Hello.\n", sub__b_MP3="", sub__b_txt=" Two\nlines \n")
    fill(tmp_path, c_flac="", c_flac_txt="Third.", d_wav="", e_txt="Alone.", f_wav="", f_txt="")
    fill(tmp_path, g_wav="", g_lab="0 100 sil\n100 200 ah\n", h_wav="", h_srt=SRT)

    found = read(tmp_path)

    assert found.format == "beside"
    assert [(line.audio, line.text) for line in found.lines] == [
        ("a.wav", "Hello."),
        ("c.flac", "Third."),
        ("h.wav", "Hello there."),
        ("h.wav", "Bye."),
        ("sub/b.MP3", "Two\nlines"),
    ]
    assert sorted((problem.file, problem.sentence.split(":")[0]) for problem in found.problems) == [
        ("d.wav", "It has no text beside it."),
        ("e.txt", "There is no recording of this name."),
        ("f.txt", "There is nothing in f.txt. Choose a file that holds the texts."),
        ("g.lab", "It holds phones with times, not a text."),
    ]


def test_train_and_eval_tables_are_read_together(tmp_path):
    head = "audio_file|text|speaker_name\n"
    fill(tmp_path, lang_txt="en")
    (tmp_path / "metadata_train.csv").write_text(head + "wavs/a.wav|A|me\n")
    (tmp_path / "metadata_eval.csv").write_text(head + "wavs/b.wav|B|me\nbad\n")

    found = read(tmp_path)

    assert sorted((line.audio, line.split, line.file) for line in found.lines) == [
        ("wavs/a.wav", "train", "metadata_train.csv"),
        ("wavs/b.wav", "eval", "metadata_eval.csv"),
    ]
    assert [(each.file, each.number) for each in found.problems] == [("metadata_eval.csv", 3)]


def test_the_only_table_of_a_folder_is_taken_whatever_its_name(tmp_path):
    fill(tmp_path, a_wav="", list_csv="a|Hello you.\n")

    assert [line.text for line in read(tmp_path).lines] == ["Hello you."]


def test_a_folder_with_several_tables_or_none_says_so(tmp_path):
    with pytest.raises(NotFoundError, match="has no files with texts"):
        read(tmp_path)
    fill(tmp_path, one_csv="a|x\n", two_csv="a|x\n")
    with pytest.raises(NotFoundError, match="has several files with texts"):
        read(tmp_path)


def test_50000_rows_are_read_in_a_moment(tmp_path):
    path = tmp_path / "metadata.csv"
    path.write_text("audio_file|text\n" + 'a.wav|"He said ""no"", twice."\n' * 50_000)

    assert len(read(path).lines) == 50_000


def test_marks_that_never_pair_cost_no_more_time_than_others(tmp_path):
    path = tmp_path / "metadata.csv"
    for row in ('a.wav|"x ""y"" z|me\n', 'a.wav|"""|me\n', 'a.wav|""x|me\n', 'a.wav|"x|me\n'):
        path.write_text("audio_file|text|speaker_name\n" + row * 20_001)

        assert read(path).lines


def test_2000_damaged_files_are_read_or_refused_in_words(tmp_path):
    random_ = random.Random(5)
    path = tmp_path / "file.txt"
    for _ in range(2000):
        content = bytearray(random_.choice([*FILES.values()])[0].encode(random_.choice(CODECS)))
        for _ in range(random_.randint(1, 6)):
            at = random_.randrange(len(content) + 1)
            content[at : at + random_.randint(0, 3)] = random_.randbytes(random_.randint(0, 4))
        path.write_bytes(content)

        try:
            found = read(path)
        except TextError as error:
            assert error.what and error.fix
        else:
            assert found.lines or found.problems
            "".join(line.text + line.audio for line in found.lines).encode()
            "".join(problem.sentence for problem in found.problems).encode()
