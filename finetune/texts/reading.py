"""Read the texts of recordings from a file or a folder, whatever program they come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from engines.errors import NotFoundError, TextError
from finetune.texts import jsonlines, subtitles, tables
from finetune.texts.cells import lines_of
from finetune.texts.encodings import Decoded, decode, decode_as, is_damaged
from finetune.texts.exact import COMPANION, read_companion, restore
from finetune.texts.records import AUDIO_ENDINGS, Line, Problem, Read, excerpt
from finetune.texts.tables import Found

_BESIDE_ENDINGS = (".lab", ".txt", ".srt", ".vtt")
_TABLE_ENDINGS = (".jsonl", ".csv", ".tsv", ".list", ".txt")
_METADATA = ("metadata.jsonl", "metadata.csv")
_SPLITS = {"train": "train", "eval": "eval", "validation": "eval", "valid": "eval", "dev": "eval",
           "test": "eval"}  # fmt: skip
# 100,000 clips of LJSpeech are 20 MB. More than this is a recording under a wrong name.
_LARGEST_BYTES = 256_000_000
_NO_TEXTS = (
    (b"RIFF", "a recording"), (b"ID3", "a recording"), (b"fLaC", "a recording"),
    (b"OggS", "a recording"), (b"\x1aE\xdf\xa3", "a video"), (b"PK\x03\x04", "an archive or"
     " an Office document"), (b"\xd0\xcf\x11\xe0", "an Office document"), (b"%PDF", "a PDF"),
    (b"{\\rtf", "a formatted document"), (b"\x89PNG", "a picture"), (b"\xff\xd8\xff", "a picture"),
    (b"SQLite format 3", "a database"), (b"PAR1", "a Parquet table"), (b"\x1f\x8b", "an archive"),
)  # fmt: skip


def read(path: Path, encoding: str | None = None, *, plain: bool = False) -> Read:
    """
    Read a transcript file, or every transcript of a folder.

    What it is, is told from its content, unless it is known to be `plain` text; `encoding`
    overrides the one found in it.
    """
    if path.is_dir():
        return _read_folder(path, encoding)
    decoded = _decoded(path, encoding)
    companion, problems = read_companion(path)
    known = "script" if plain else companion.format if companion else ""
    format, found = _parse(decoded.text, path, known)
    lines, more = _parted(found, path.name)
    lines, missing = restore(lines, companion, path.name)
    problems = [*_guessed(decoded, path.name), *problems, *missing, *more]
    if not lines and not problems and companion is None:
        problems = [Problem(0, "It holds no texts.", path.name)]
    return Read(format, decoded.encoding, tuple(lines), tuple(problems))


def _decoded(path: Path, encoding: str | None) -> Decoded:
    content = _content(path)
    if encoding is None:
        decoded = decode(content)
    else:
        try:
            decoded = decode_as(content, encoding)
        except (LookupError, UnicodeError) as error:
            raise TextError(
                f"{path.name} cannot be read as {encoding}.",
                "Choose another encoding, or let it be found.",
            ) from error
    if "\0" in decoded.text and not decoded.sure:
        raise _no_text(path.name, "no text")
    return decoded


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise _no_text(path.name, f"{path.stat().st_size / 1e6:,.0f} MB large")
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise NotFoundError(f"There is no {path}.", "Choose a file that is there.") from error
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise TextError(
            f"{path.name} cannot be opened ({why}).", "Look whether you may read it, or copy it."
        ) from error
    if not content.strip(b"\0\xef\xbb\xbf\xff\xfe \t\r\n"):
        raise TextError(f"There is nothing in {path.name}.", "Choose a file that holds the texts.")
    for mark, what in _NO_TEXTS:
        if content.startswith(mark):
            raise _no_text(path.name, what)
    return content


def _no_text(name: str, what: str) -> TextError:
    return TextError(
        f"{name} is {what}, not a transcript.",
        "Save the texts as plain text, CSV, .srt or .vtt and choose that file.",
    )


def _parse(text: str, path: Path, known: str) -> tuple[str, Iterable[Found]]:
    """Tell what a text is, and read it as that."""
    if known == "script":
        return known, _script(text)
    if subtitles.is_vtt(text):
        return "vtt", subtitles.read_subtitles(text, path.stem)
    if shape := tables.shape_of(known, text):
        return shape.format, tables.read_headless(text, shape)
    if columns := tables.header(text):
        return columns.format, tables.read_headed(text, columns)
    if subtitles.is_srt(text):
        return "srt", subtitles.read_subtitles(text, path.stem)
    if jsonlines.is_jsonl(text):
        return "audiofolder", jsonlines.read_jsonl(text)
    if shape := tables.recognise(text):
        return shape.format, tables.read_headless(text, shape)
    return "script", _script(text)


def _script(text: str) -> Iterator[Found]:
    """A plain text: each line that says something, for one long recording."""
    for number, line in lines_of(text):
        if line.strip():
            yield Line(number, "", line.strip())


def _parted(found: Iterable[Found], name: str) -> tuple[list[Line], list[Problem]]:
    """Part lines from problems, and take lines with broken bytes for problems too."""
    lines: list[Line] = []
    problems: list[Problem] = []
    for each in found:
        if isinstance(each, Problem):
            problems.append(replace(each, sentence=_sound(each.sentence), file=name))
        elif is_damaged(each.text + each.audio + each.speaker):
            sentence = f"It has bytes that are no text: {excerpt(_sound(each.text))}."
            problems.append(Problem(each.number, sentence, name))
        else:
            lines.append(replace(each, file=name))
    return lines, problems


def _sound(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _guessed(decoded: Decoded, name: str) -> list[Problem]:
    if decoded.sure:
        return []
    sentence = (
        f"It is read as {decoded.encoding}, which is a guess:"
        " if letters look wrong, choose another encoding or save it as UTF-8."
    )
    return [Problem(0, sentence, name)]


def _read_folder(folder: Path, encoding: str | None) -> Read:
    """Read a folder: its metadata files, else its one table, else the texts beside recordings."""
    names = sorted(path for path in folder.rglob("*") if path.is_file() and _visible(path, folder))
    if metadata := _metadata(folder, names):
        return _together(folder, metadata, encoding)
    beside = _texts_by_stem(names)
    audio = [path for path in names if path.suffix.lower() in AUDIO_ENDINGS]
    if any(_text_of(path, beside) for path in audio):
        return _read_beside(folder, audio, beside, encoding)
    found = [path for path in names if _may_be_table(path)]
    if len(found) == 1:
        return _together(folder, found, encoding)
    raise NotFoundError(
        f"{folder.name} has {'several' if found else 'no'} files with texts.",
        "Choose the file itself, or put a .txt of the same name beside each recording.",
    )


def _visible(path: Path, folder: Path) -> bool:
    # macOS leaves "._name.wav" beside every file it copies to other disks.
    return not any(part.startswith(".") for part in path.relative_to(folder).parts)


def _may_be_table(path: Path) -> bool:
    return path.suffix.lower() in _TABLE_ENDINGS and path.name not in {COMPANION, "lang.txt"}


def _metadata(folder: Path, names: Sequence[Path]) -> list[Path]:
    """Find the files whose names say that they are the transcript."""
    pair = [path for path in names if path.name in {"metadata_train.csv", "metadata_eval.csv"}]
    if pair:
        shortest = min(len(path.parts) for path in pair)
        return [path for path in pair if len(path.parts) == shortest]
    for name in _METADATA:
        if found := [path for path in names if path.name == name]:
            top = [path for path in found if path.parent == folder]
            return top or found
    return []


def _together(folder: Path, paths: Sequence[Path], encoding: str | None) -> Read:
    """Read several files as one transcript."""
    reads = [_placed(read(path, encoding), path, folder) for path in paths]
    return Read(
        reads[0].format,
        ", ".join(dict.fromkeys(each.encoding for each in reads)),
        tuple(line for each in reads for line in each.lines),
        tuple(problem for each in reads for problem in each.problems),
    )


def _placed(found: Read, path: Path, folder: Path) -> Read:
    """Say which file of the folder each line is from, and which part of the data it is for."""
    relative = path.relative_to(folder)
    file = relative.as_posix()
    parts = (*relative.parts[:-1], path.stem.removeprefix("metadata_"))
    split = next((_SPLITS[part] for part in map(str.lower, parts) if part in _SPLITS), "")
    inside = "".join(f"{part}/" for part in relative.parts[:-1])
    lines = (
        replace(line, file=file, split=split, audio=inside + line.audio if line.audio else "")
        for line in found.lines
    )
    problems = (replace(problem, file=file) for problem in found.problems)
    return replace(found, lines=tuple(lines), problems=tuple(problems))


def _texts_by_stem(names: Iterable[Path]) -> dict[str, Path]:
    """Texts that may stand beside a recording; of several the first kind of the list counts."""
    found: dict[str, Path] = {}
    for ending in _BESIDE_ENDINGS:
        for path in names:
            if path.suffix.lower() == ending and path.name != "lang.txt":
                found.setdefault(_stem_key(path), path)
    return found


def _stem_key(path: Path) -> str:
    return path.with_suffix("").as_posix().lower()


def _text_of(audio: Path, beside: dict[str, Path]) -> Path | None:
    """The text of a recording: talk.txt or talk.wav.txt for talk.wav."""
    return beside.get(_stem_key(audio)) or beside.get(audio.as_posix().lower())


def _read_beside(
    folder: Path, audio: Sequence[Path], beside: dict[str, Path], encoding: str | None
) -> Read:
    lines: list[Line] = []
    problems: list[Problem] = []
    encodings: dict[str, None] = {}
    for path in audio:
        name = path.relative_to(folder).as_posix()
        if (text := _text_of(path, beside)) is None:
            problems.append(Problem(0, "It has no text beside it.", name))
            continue
        file = text.relative_to(folder).as_posix()
        found = _read_one(text, encoding)
        lines += (replace(line, audio=name, file=file) for line in found.lines)
        problems += (replace(problem, file=file) for problem in found.problems)
        encodings[found.encoding] = None
    problems += _alone(folder, audio, beside)
    return Read("beside", ", ".join(filter(None, encodings)), tuple(lines), tuple(problems))


def _read_one(path: Path, encoding: str | None) -> Read:
    """Read the text of one recording; one that cannot be read never stops the others."""
    try:
        if path.suffix.lower() in {".srt", ".vtt"}:
            return read(path, encoding)
        decoded = _decoded(path, encoding)
    except (TextError, NotFoundError) as error:
        return Read("", "", (), (Problem(0, f"{error.what} {error.fix}"),))
    if path.suffix.lower() == ".lab" and _holds_phones(decoded.text):
        sentence = "It holds phones with times, not a text."
        return Read("beside", decoded.encoding, (), (Problem(1, sentence),))
    found = [Line(1, "", decoded.text.strip())]
    lines, problems = _parted(found, path.name)
    guessed = _guessed(decoded, path.name)
    return Read("beside", decoded.encoding, tuple(lines), (*guessed, *problems))


def _holds_phones(text: str) -> bool:
    """Whether a .lab is one of HTK's: start, end and phone on each line."""
    rows = [line.split() for _, line in lines_of(text) if line.strip()]
    return all(len(row) >= 3 and _is_number(row[0]) and _is_number(row[1]) for row in rows)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def _alone(folder: Path, audio: Iterable[Path], beside: dict[str, Path]) -> Iterator[Problem]:
    """Report texts that stand beside no recording."""
    used = {_text_of(path, beside) for path in audio}
    for path in beside.values():
        if path not in used:
            name = path.relative_to(folder).as_posix()
            yield Problem(0, "There is no recording of this name.", name)
