"""A speech server in a thread, with a speaker that needs no torch, and clients of it."""

import socket
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass

import openai
import pytest

from app import server
from app.door import new_token, rules_for
from app.speech import api
from app.speech.serving import Voices, front_for
from voices import files, library
from voices.speaker.speaker import Speaker
from voices.workspace import open_workspace

STAND_IN = (sys.executable, "-m", "tests.voices.speaker.stand_in")


@dataclass
class Served:
    url: str
    token: str
    speaker: Speaker
    voice: library.Voice

    @property
    def port(self):
        return int(self.url.rsplit(":", 1)[1].strip("/"))

    def client(self, token=None):
        return openai.OpenAI(base_url=f"{self.url}v1", api_key=token or self.token, max_retries=0)

    def wire(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def ask(self, text, **more):
        """What a client gets for a text."""
        wanted = {"model": "timbre", "voice": "Ada", "response_format": "pcm", **more}
        with self.client() as client:
            return client.audio.speech.create(input=text, **wanted).read()


def a_voice(workspace, name="Ada"):
    """A voice without sound of its own: what it says is as loud as it comes."""
    folder = workspace.cache / name
    with files.new_folder(folder) as new:
        files.write_json(new / "voice.json", {"v": 1, "name": name, "language": "en"})
    return library.keep(workspace, folder, name)


@contextmanager
def served(folder, most_waiting=32, usual=""):
    """Serve until the block ends."""
    workspace = open_workspace(folder / "workspace")
    voice = a_voice(workspace)
    speaker = Speaker(folder / "log.txt", most_waiting=most_waiting, command=STAND_IN)
    voices = Voices(workspace, speaker, usual)
    token, stop, urls = new_token(), threading.Event(), []
    front, ready = front_for(rules_for("127.0.0.1", 0, token)), threading.Event()

    def tell(url):
        urls.append(url.partition("?")[0])
        ready.set()

    front.open(api.build(voices.find, voices.say, voices.listed))
    thread = threading.Thread(
        target=server.serve, args=(front,), kwargs={"on_ready": tell, "stop": stop}
    )
    thread.start()
    try:
        assert ready.wait(20)
        yield Served(urls[0], token, speaker, voice)
    finally:
        stop.set()
        thread.join(10)
        speaker.close()
        workspace.close()


@pytest.fixture(scope="module")
def speech(tmp_path_factory):
    with served(tmp_path_factory.mktemp("speech")) as running:
        yield running
