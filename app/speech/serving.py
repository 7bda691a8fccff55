"""Opens a workspace's voices to other programs, until it is stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from app import server
from app.door import Rules
from app.front import Front
from app.speech import answers, api, device
from app.speech.wishes import BUILT_IN, RefusedError
from engines.errors import NotFoundError
from voices import library
from voices.library import Voice
from voices.speaker.speaker import Speaker, Speech
from voices.workspace import Workspace, open_workspace

LOG = "speech-server.log"
# What a program in a container calls the computer it runs on. Nobody gets in without the token.
FROM_A_CONTAINER = "host.docker.internal"


@dataclass(frozen=True, slots=True)
class Serving:
    """How voices are to be served."""

    rules: Rules
    exact_port: bool
    tell: Callable[[str], None]
    """Called with the address once it answers."""
    voice: str = ""
    """Who speaks when no voice is asked for, or one of OpenAI's."""


def run(root: Path, serving: Serving, stop: threading.Event | None = None) -> None:
    """Serve the voices of a workspace."""
    with closing(open_workspace(root)) as workspace:
        front = front_for(serving.rules)
        with closing(device.speaker_for(workspace, LOG)) as speaker:
            voices = Voices(workspace, speaker, serving.voice)
            front.open(api.build(voices.find, voices.say, voices.listed))
            server.serve(
                front,
                exact_port=serving.exact_port,
                on_ready=lambda url: serving.tell(url.partition("?")[0] + "v1"),
                stop=stop,
            )


def front_for(rules: Rules) -> Front:
    """The guard, in words for programs."""
    rules = replace(rules, names=rules.names | {FROM_A_CONTAINER})
    return Front(rules, lambda: {"program": "timbre speech server"}, answers.in_words)


class Voices:
    """The voices of a workspace, and what makes them speak."""

    def __init__(self, workspace: Workspace, speaker: Speaker, usual: str = "") -> None:
        self._workspace, self._speaker, self._usual = workspace, speaker, usual

    def listed(self) -> list[Voice]:
        return library.listed(self._workspace)

    def find(self, asked: str) -> Voice:
        """The voice that a client means."""
        if not asked and not self._usual:
            raise RefusedError(400, "`voice` is missing.", "voice", "invalid_type")
        try:
            found = library.find(self._workspace, asked or self._usual)
        except NotFoundError:
            if asked.lower() not in BUILT_IN or not self._usual:
                raise
            found = library.find(self._workspace, self._usual)
        if found.item.trashed:
            raise NotFoundError(f"The voice {found.name} is in the trash.", "Take it back first.")
        return found

    def say(self, voice: Voice, text: str, pace: float) -> Speech:
        where = device.for_speaking(self._workspace, self._speaker.pid)
        return self._speaker.say(voice.folder, voice.facts, text, device=where, pace=pace)
