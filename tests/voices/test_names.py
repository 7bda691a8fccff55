"""Names people give: all work, or are refused with a sentence; nothing outside changes."""

from __future__ import annotations

import pytest

from engines.errors import NameProblem, NotFoundError
from finetune import projects
from voices import names
from voices.shelf import Shelf
from voices.workspace import open_workspace

PLAIN = """
Evening voice|voice|a|Ä|ß|SS|ss2|ı|İ|Ø|ñ|ﬁ|Ⅷ|½|²|日本語|你好，世界|한국어|ภาษาไทย|हिन्दी|தமிழ்|Ελληνικά
Русский|עברית|مرحبا بالعالم|مرحبا-mixed-שלום|🎙|👩‍🚀|🇪🇺|👨‍👩‍👧‍👦|e\u0301clair|éclair2|Ａｂｃ|𝔙𝔬𝔦𝔠𝔢|ｖｏｉｃｅ９
..|.|...|../x|../../etc/passwd|..\\..\\x|/etc/passwd|/|\\|//server/share|\\\\server\\share|C:|C:\\Windows|c:/x|a/b|a\\b
CON|con|PRN|AUX|NUL|nul.txt|COM1|COM¹|LPT9|CLOCK$|CON.wav|con .txt|desktop.ini|Thumbs.db|.DS_Store|.git|.tmp-1-x|studio.db|project.db
-rf|--help|-|--|-o ProxyCommand=x|$(touch x)|`touch x`|;touch x|&& touch x|"&calc|'; DROP TABLE projects; --|" OR 1=1 --|%00|%2e%2e%2f|%s%n|{0}|{{7*7}}|${7*7}|#{7*7}
<img src=x onerror=alert(1)>|<script>alert(1)</script>|javascript:alert(1)|</title>|<!--|&amp;|&#60;|]]>|=1+1|+1|@SUM(A1)|=cmd()|a,b|a;b|a|a:b|a*b|a?b|a"b|a'b|a<b>c
trailing.|trailing space |  leading|tab-free|a  b|name.|name..|name .|~|~root|$HOME|%USERPROFILE%|*|?|!|#|%|&|(|)|[|]|{|}|^|+|=|@|,|;|'|"|``|0|00|1e9|NaN|null|None|undefined|true|-1
""".replace("\n", "|").split("|")
LONG = ["x" * 255, "é" * 127, "🎙" * 63, "voice " * 42, "x" * 256, "x" * 100_000]
REFUSED = [
    "",
    " ",
    "\u3000",
    "\u200b",
    "\u200d",
    "\ufeff",
    "\x00",
    "a\x00b",
    "a\nb",
    "a\rb",
    "\t",
    "\x1b[31m",
]
REFUSED += ["a\u2028b", "a\u2029b", "\u202egpj.exe", "\u2066a", "\x7f", "\x85", "\udc80", "a\ud800"]
HOSTILE = [name for name in PLAIN if name] + LONG + REFUSED


def test_there_are_enough_hostile_names():
    assert len(set(HOSTILE)) >= 150


def snapshot(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.parametrize("kind", ["project", "voice"])
def test_every_hostile_name_works_or_is_refused_with_a_sentence(tmp_path, kind):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("kept")
    workspace = open_workspace(outside / "workspace")
    shelf = Shelf(workspace, f"{kind}s", kind)
    before = {path for path in tmp_path.rglob("*") if "workspace" not in path.parts}
    worked = []

    for name in HOSTILE:
        try:
            made = projects.create(workspace, name) if kind == "project" else shelf.add(name)
        except NameProblem as refused:
            assert refused.what.endswith(".") and refused.fix.endswith(".")
            continue
        assert names.is_id(made.id)
        assert shelf.find(made.name).id == made.id
        assert shelf.rename(made.id, f"{made.name[:200]} {made.id}").id == made.id
        shelf.trash(made.id)
        assert shelf.restore(made.id).name.endswith(made.id)
        worked.append(made)

    assert len(worked) > 130
    assert {path for path in tmp_path.rglob("*") if "workspace" not in path.parts} == before
    folders = {path.name for path in workspace.projects.iterdir()}
    assert folders == ({made.id for made in worked} if kind == "project" else set())
    workspace.close()


@pytest.mark.parametrize("name", REFUSED, ids=ascii)
def test_what_cannot_be_seen_or_turns_the_text_is_refused(name):
    with pytest.raises(NameProblem):
        names.clean(name)


def test_ordinary_names_of_every_script_are_kept_as_they_are(workspace):
    for name in [
        "Evening voice",
        "مرحبا بالعالم",
        "日本語",
        "👩‍🚀 voice",
        "..",
        "CON",
        "-rf",
        'say "hi"',
        "x" * 255,
    ]:
        assert projects.create(workspace, name).name == name


def test_two_spellings_of_one_name_are_one_name(workspace):
    projects.create(workspace, "Éclair")

    for same in ("éclair", "E\u0301CLAIR", " Éclair ", "ｅ\u0301ｃｌａｉｒ"):
        with pytest.raises(NameProblem, match=r"called .* already"):
            projects.create(workspace, same)


def test_a_name_in_the_trash_is_free_again_and_comes_back_with_a_number(workspace):
    shelf = projects.shelf(workspace)
    first = projects.create(workspace, "Anna")
    shelf.trash(first.id)
    projects.create(workspace, "anna")
    projects.create(workspace, "Anna (2)")

    assert shelf.restore(first.id).name == "Anna (3)"
    assert shelf.all(trashed=True) == []


def test_what_was_put_in_the_trash_meanwhile_is_not_renamed(workspace):
    shelf = projects.shelf(workspace)
    item = projects.create(workspace, "Anna")
    shelf.trash(item.id)

    with pytest.raises(NotFoundError, match="moved to the trash meanwhile"):
        shelf.rename(item.id, "Bert")


def test_a_refused_name_leaves_nothing_behind(workspace):
    projects.create(workspace, "Anna")

    with pytest.raises(NameProblem):
        projects.create(workspace, "ANNA")

    assert len(list(workspace.projects.iterdir())) == 1


def test_projects_whose_list_was_lost_come_back_into_it(workspace):
    kept, empty = projects.create(workspace, "Anna"), projects.create(workspace, "Bert")
    (workspace.projects / kept.id / "recordings" / "one.wav").write_bytes(b"RIFF")
    with workspace.store.change() as store:
        store.execute("DELETE FROM projects")

    [back] = projects.list_again(workspace)

    assert back.id == kept.id
    assert [path.name for path in projects.unlisted(workspace)] == [empty.id]
    assert projects.list_again(workspace) == []


def test_an_unknown_name_says_what_there_is(workspace):
    projects.create(workspace, "Anna")

    with pytest.raises(NotFoundError, match="no project called 'Bert'") as caught:
        projects.shelf(workspace).find("Bert")

    assert caught.value.fix == "There is: Anna."


@pytest.mark.parametrize(
    ("came", "kept"),
    [
        ("talk é.mp3", "talk é.mp3"),
        ("  a?b:c.wav. ", "a_b_c.wav"),
        ("a/b\\c\0d", "a_b_c_d"),
        ("CON.wav", "_CON.wav"),
        ("lpt1", "_lpt1"),
        ("console.wav", "console.wav"),
        ("..", ""),
    ],
)
def test_a_name_from_elsewhere_becomes_one_that_every_disk_takes(came, kept):
    assert names.for_disk(came) == kept


def test_a_long_name_from_elsewhere_keeps_its_end_and_whole_signs(tmp_path):
    made = names.for_disk("晚" * 110 + ".wav")

    (tmp_path / made).touch()
    assert made.endswith("晚.wav")
    assert len(made.encode()) <= 200
