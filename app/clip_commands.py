"""Commands for clips: see them, correct them, sort them; every edit can be undone."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Annotated

import typer

from app import data_views, terminal
from app.options import Json, Opened, ProjectName, open_project
from engines.errors import EditError, NotFoundError
from engines.texts.normalize import preview
from finetune import editing, overview
from finetune.editing import Proposal, Search
from finetune.overview import MARKS, Seen
from finetune.transcript import Action, Clip

app = typer.Typer(help="See and correct the clips of a project.", no_args_is_help=True)

ClipId = Annotated[int, typer.Argument(metavar="CLIP", help="Its number in `clips list`.")]
ClipIds = Annotated[
    list[int], typer.Argument(metavar="CLIP...", help="Their numbers in `clips list`.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do it without asking.")]
MatchCase = Annotated[bool, typer.Option("--match-case", help="A is not a.")]
WholeWords = Annotated[bool, typer.Option("--whole-words", help="Not inside of longer words.")]


@app.command("list")
def list_(
    context: typer.Context,
    project: ProjectName,
    mark: Annotated[
        str | None, typer.Option(metavar="MARK", help=f"Only these: {', '.join(MARKS)}, left out.")
    ] = None,
    find: Annotated[str, typer.Option(metavar="TEXT", help="Only those that say it.")] = "",
    recording: Annotated[str, typer.Option(metavar="NAME", help="Only those of one.")] = "",
    as_json: Json = False,
) -> None:
    """
    List clips, with what was heard there where the text says something else.

    [dim]launch.py clips list --project Ada --mark look · … --find kettle[/]
    """
    known = (*MARKS, "left out")
    if mark is not None and mark not in known:
        raise NotFoundError(f"There is no mark {mark!r}.", f"Choose one of {', '.join(known)}.")
    with open_project(context, project) as opened:
        seen = _filtered(opened, mark, find, recording)
        if as_json:
            terminal.print_json([data_views.clip_facts(each) for each in seen])
        else:
            terminal.print_table(data_views.CLIP_HEADS, data_views.clip_rows(seen))


@app.command("show")
def show(context: typer.Context, clip: ClipId, project: ProjectName, as_json: Json = False) -> None:
    """
    Show all about one: its checks, what was heard there, its words numbered.

    [dim]launch.py clips show 12 --project Ada[/]
    """
    with open_project(context, project) as opened:
        seen = _seen(opened, [clip])[0]
        words = overview.timed_words(opened.project, seen.clip)[0] if seen.heard else []
        if as_json:
            numbered = [
                {"word": number, "text": each.text.strip(), "start": each.start, "end": each.end}
                for number, each in enumerate(words, 1)
            ]
            terminal.print_json({**data_views.clip_facts(seen), "words": numbered})
        else:
            typer.echo(data_views.clip_page(seen, words))


@app.command("text")
def text(
    context: typer.Context,
    clip: ClipId,
    words: Annotated[str, typer.Argument(metavar="TEXT", help="What is said in it.")],
    project: ProjectName,
    as_json: Json = False,
) -> None:
    """
    Say what is spoken in a clip.

    [dim]launch.py clips text 12 "The kettle sang." --project Ada[/]
    """
    with open_project(context, project) as opened:
        _do(opened, editing.retype(_clip(opened, clip), words), as_json)


@app.command("take")
def take(
    context: typer.Context, clips: ClipIds, project: ProjectName, as_json: Json = False
) -> None:
    """
    Take what was heard for the text.

    [dim]launch.py clips take 12 13 --project Ada[/]
    """
    with open_project(context, project) as opened:
        seen = _seen(opened, clips)
        for each in seen:
            if not each.heard:
                raise EditError(
                    f"Nothing was heard in clip {each.clip.id}.", "Type its text instead."
                )
        _do(opened, editing.take_heard((each.clip, each.heard) for each in seen), as_json)


@app.command("trim")
def trim(
    context: typer.Context,
    clip: ClipId,
    project: ProjectName,
    start: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Counted from the recording's start.")
    ] = None,
    end: Annotated[float | None, typer.Option(metavar="SECONDS", help="The same.")] = None,
    as_json: Json = False,
) -> None:
    """
    Move the ends of a clip; what is outside is kept and can be taken in again.

    [dim]launch.py clips trim 12 --start 7.3 --project Ada[/]
    """
    if start is None and end is None:
        raise EditError("Nothing was said of the ends.", "Name --start, --end, or both.")
    with open_project(context, project) as opened:
        found = _clip(opened, clip)
        seconds = opened.project.recordings.find(found.values.recording).seconds
        start = found.values.start if start is None else start
        end = found.values.end if end is None else end
        _do(opened, editing.trim(found, start, end, seconds), as_json)


@app.command("split")
def split(
    context: typer.Context,
    clip: ClipId,
    project: ProjectName,
    word: Annotated[
        int | None,
        typer.Option(metavar="N", help="The second begins with this word, as `clips show` counts."),
    ] = None,
    at: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Counted from the recording's start.")
    ] = None,
    left: Annotated[
        str | None, typer.Option(metavar="TEXT", help="With --at: the first's text.")
    ] = None,
    right: Annotated[
        str | None, typer.Option(metavar="TEXT", help="With --at: the second's text.")
    ] = None,
    as_json: Json = False,
) -> None:
    """
    Make two clips of one, at a word where it is quiet, or at a second.

    [dim]launch.py clips split 12 --word 5 --project Ada[/]
    """
    with open_project(context, project) as opened:
        found = _clip(opened, clip)
        if word is not None and at is None:
            words, heard = overview.timed_words(opened.project, found)
            _do(opened, editing.split_at_word(found, words, word - 1, heard), as_json)
        elif at is not None and word is None and left is not None and right is not None:
            _do(opened, editing.split(found, at, left, right), as_json)
        else:
            raise EditError(
                "It is not clear where to split.", "Name --word, or --at with --left and --right."
            )


@app.command("merge")
def merge(
    context: typer.Context,
    first: ClipId,
    second: ClipId,
    project: ProjectName,
    as_json: Json = False,
) -> None:
    """
    Make one clip of two neighbours, with what lies between them.

    [dim]launch.py clips merge 12 13 --project Ada[/]
    """
    with open_project(context, project) as opened:
        pair = (_clip(opened, first), _clip(opened, second))
        _do(opened, editing.merge(*pair), as_json)


@app.command("leave-out")
def leave_out(
    context: typer.Context,
    clips: ClipIds,
    project: ProjectName,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why.")] = "left out by hand",
    as_json: Json = False,
) -> None:
    """
    Keep clips out of the dataset; they stay in the list.

    [dim]launch.py clips leave-out 12 13 --reason "a phone rings" --project Ada[/]
    """
    with open_project(context, project) as opened:
        _do(opened, editing.leave_out(_clips(opened, clips), reason), as_json)


@app.command("take-in")
def take_in(
    context: typer.Context, clips: ClipIds, project: ProjectName, as_json: Json = False
) -> None:
    """
    Put clips into the dataset again; the checks do not take them out any more.

    [dim]launch.py clips take-in 12 --project Ada[/]
    """
    with open_project(context, project) as opened:
        _do(opened, editing.take_in(_clips(opened, clips)), as_json)


@app.command("restore")
def restore(
    context: typer.Context, clips: ClipIds, project: ProjectName, as_json: Json = False
) -> None:
    """
    Bring clips back that were merged into others or cut anew.

    [dim]launch.py clips restore 13 --project Ada[/]
    """
    with open_project(context, project) as opened:
        gone = [opened.project.transcript.clip(each) for each in clips]
        _do(opened, editing.restore(gone), as_json)


@app.command("replace")
def replace(
    context: typer.Context,
    find: Annotated[str, typer.Argument(metavar="FIND", help="What to look for.")],
    by: Annotated[str, typer.Argument(metavar="BY", help="What to write instead.")],
    project: ProjectName,
    match_case: MatchCase = False,
    whole_words: WholeWords = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """
    Replace something in every text, after showing what changes.

    [dim]launch.py clips replace ketle kettle --project Ada · … --yes[/]
    """
    with open_project(context, project) as opened:
        clips = opened.project.transcript.clips()
        search = Search(find, match_case, whole_words)
        _preview(opened, editing.find_and_replace(clips, search, by), clips, yes, as_json)


@app.command("normalise")
def normalise(
    context: typer.Context,
    project: ProjectName,
    language: Annotated[
        str, typer.Option(metavar="CODE", help="Else that of each recording.")
    ] = "",
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """
    Write numbers and abbreviations as they are said, after showing what changes.

    [dim]launch.py clips normalise --project Ada · … --yes[/]
    """
    with open_project(context, project) as opened:
        clips = opened.project.transcript.clips()
        recordings = opened.project.recordings.all()
        languages = {each.id: language or each.language for each in recordings}
        _preview(opened, editing.normalise(clips, languages), clips, yes, as_json)
        left = [
            f"{clip.id}: {', '.join(said)}"
            for clip in opened.project.transcript.clips()
            if (said := preview(clip.values.text, languages[clip.values.recording]).left)
        ]
        if left and not as_json:
            typer.echo(f"Left as they are, for nobody can say for sure: {'; '.join(left)}")


@app.command("undo")
def undo(context: typer.Context, project: ProjectName, as_json: Json = False) -> None:
    """
    Take the newest edit back, also after a restart.

    [dim]launch.py clips undo --project Ada[/]
    """
    with open_project(context, project) as opened:
        _turned(opened.project.transcript.undo(), "Undone", as_json)


@app.command("redo")
def redo(context: typer.Context, project: ProjectName, as_json: Json = False) -> None:
    """
    Do again what was undone last.

    [dim]launch.py clips redo --project Ada[/]
    """
    with open_project(context, project) as opened:
        _turned(opened.project.transcript.redo(), "Done again", as_json)


@app.command("history")
def history(context: typer.Context, project: ProjectName, as_json: Json = False) -> None:
    """
    List every edit, the newest first.

    [dim]launch.py clips history --project Ada[/]
    """
    with open_project(context, project) as opened:
        actions = opened.project.transcript.history()
        if as_json:
            terminal.print_json([data_views.action_facts(each) for each in actions])
        else:
            terminal.print_table(data_views.HISTORY_HEADS, data_views.history_rows(actions))


# ---- What they have in common ----


def _filtered(opened: Opened, mark: str | None, find: str, recording: str) -> list[Seen]:
    seen = overview.clips_of(opened.project)
    if mark is not None:
        seen = [each for each in seen if mark in (each.mark, data_views.mark(each))]
    if find:
        found = {clip.id for clip in editing.find([each.clip for each in seen], Search(find))}
        seen = [each for each in seen if each.clip.id in found]
    if recording:
        chosen = overview.named(opened.project.recordings.all(), recording)
        seen = [each for each in seen if each.recording.id == chosen.id]
    return seen


def _seen(opened: Opened, clip_ids: Iterable[int]) -> list[Seen]:
    wanted = [clip.id for clip in _clips(opened, clip_ids)]
    there = {each.clip.id: each for each in overview.clips_of(opened.project)}
    return [there[clip_id] for clip_id in wanted]


def _clip(opened: Opened, clip_id: int) -> Clip:
    """A clip that is there; one that is gone can only be brought back."""
    clip = opened.project.transcript.clip(clip_id)
    if clip.values.gone:
        raise NotFoundError(
            f"Clip {clip_id} was merged into another or cut anew.",
            "`clips restore` brings it back.",
        )
    return clip


def _clips(opened: Opened, clip_ids: Iterable[int]) -> list[Clip]:
    return [_clip(opened, each) for each in dict.fromkeys(clip_ids)]


def _do(opened: Opened, proposal: Proposal, as_json: bool) -> None:
    """Do one undoable action and show the clips as they are now."""
    changed = (
        opened.project.transcript.edit(proposal.label, proposal.edits, proposal.new)
        if proposal.edits or proposal.new
        else []
    )
    if as_json:
        terminal.print_json(data_views.changed_facts(changed))
        return
    for line in data_views.changed_lines(changed):
        typer.echo(line)
    if not changed:
        typer.echo("It is so already.")


def _preview(
    opened: Opened, proposal: Proposal, clips: Sequence[Clip], yes: bool, as_json: bool
) -> None:
    """Show what would change, and do it when that is wanted."""
    if as_json:
        if yes and proposal.edits:
            opened.project.transcript.edit(proposal.label, proposal.edits)
        changes = data_views.proposal_facts(proposal, clips)
        terminal.print_json({"done": yes, "changes": changes})
        return
    if not proposal.edits:
        typer.echo("Nothing would change.")
        return
    rows = data_views.proposal_rows(proposal, clips)
    terminal.print_table(data_views.CHANGE_HEADS, rows)
    if not (yes or _agreed(len(rows))):
        typer.echo("Nothing was changed; --yes does it without asking.")
        raise typer.Exit(1)
    opened.project.transcript.edit(proposal.label, proposal.edits)
    typer.echo(f"{len(rows):,} changed. `clips undo` takes it back.")


def _agreed(count: int) -> bool:
    """Ask, where there is somebody to answer."""
    return sys.stdin.isatty() and typer.confirm(f"Change {count:,}?")


def _turned(action: Action | None, how: str, as_json: bool) -> None:
    if as_json:
        terminal.print_json(data_views.action_facts(action) if action else None)
    else:
        typer.echo(f"{how}: {action.label}" if action else "There is nothing to do.")
