"""Files that name other files or addresses, dressed as recordings, with a canary on each side."""

from __future__ import annotations

import socket
import struct
import threading
from pathlib import Path

import numpy as np
import pytest
import soundfile

from engines.errors import AudioError
from finetune.media import formats
from tests.finetune.media.making import encode, judge, tone

SECRET = b"secret-7f3a9c"


class Canary:
    """A server that only counts who comes."""

    def __init__(self):
        self.visits = 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                visitor, _ = self._server.accept()
            except OSError:
                return
            self.visits += 1
            visitor.close()

    def close(self):
        self._server.close()


@pytest.fixture
def canary():
    watching = Canary()
    yield watching
    watching.close()


def playlists(address, secret):
    """Every way we know to make a decoder open something else."""
    url, file = f"http://{address}/a.mp3", secret.as_uri()
    segments = f"#EXTINF:10.0,\n{url}\n#EXTINF:10.0,\n{file}\n#EXT-X-ENDLIST\n"
    hls = f"#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:0\n{segments}"
    host, port = address.split(":")
    return {
        "hls": hls,
        "hls of a concat": f"#EXTM3U\n#EXT-X-TARGETDURATION:1\nconcat:{url}|{file}\n",
        "hls with a key": f'#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI="{url}"\n{segments}',
        "hls after a mark": "\ufeff" + hls,
        "hls of lists": f"#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nhttp://{address}/b.m3u8\n",
        "m3u": f"#EXTM3U\n{url}\n{secret}\n",
        "plain m3u": f"{url}\n{secret}\n",
        "concat": f"ffconcat version 1.0\nfile '{secret}'\nfile '{url}'\n",
        "sdp": f"v=0\no=- 0 0 IN IP4 {host}\ns=x\nc=IN IP4 {host}\nt=0 0\nm=audio {port} RTP/AVP 0\n",
        "pls": f"[playlist]\nNumberOfEntries=2\nFile1={url}\nFile2={secret}\nVersion=2\n",
        "asx": f'<asx version="3.0"><entry><ref href="{url}"/></entry></asx>',
        "asf reference": f"[Reference]\nRef1={url}\nRef2={secret}\n",
        "xspf": f'<?xml version="1.0"?><playlist xmlns="http://xspf.org/ns/0/"><trackList><track>'
        f"<location>{url}</location></track></trackList></playlist>",
        "dash": f'<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><Period>'
        f"<AdaptationSet><Representation><BaseURL>{url}</BaseURL></Representation>"
        "</AdaptationSet></Period></MPD>",
        "smil": f'<smil><body><audio src="{url}"/></body></smil>',
        "smooth": f'<SmoothStreamingMedia><StreamIndex Url="{url}"/></SmoothStreamingMedia>',
        "svg": f'<svg xmlns="http://www.w3.org/2000/svg"><image href="{file}"/></svg>',
        "rtsp": f"rtsptext\nrtsp://{address}/a\n",
        "real": f"rtsp://{address}/a.rm\n",
        "lavfi": f"amovie='{secret}'",
    }


NAMES = list(playlists("127.0.0.1:1", Path("nothing").absolute()))


@pytest.mark.parametrize("ending", ["wav", "m3u8", "mp3"])
@pytest.mark.parametrize("name", NAMES)
def test_a_playlist_is_refused_and_nothing_it_names_is_opened(
    name, ending, decoder, canary, tmp_path
):
    secret = tmp_path / "secret.mp3"
    secret.write_bytes(SECRET)
    path = tmp_path / f"voice.{ending}"
    path.write_text(playlists(canary.address, secret)[name], encoding="utf-8")

    judged = judge(decoder, path)

    assert isinstance(judged, AudioError)
    assert SECRET.decode() not in str(judged)
    assert canary.visits == 0 and decoder.crashes == []


def avi_with_subtitles(subtitles):
    """An AVI whose subtitle track is a file in itself: FFmpeg looks for a format in it."""
    header = struct.pack("<14I", 100000, 0, 0, 0x10, 1, 0, 1, 0, 64, 64, 0, 0, 0, 0)
    track = struct.pack(
        "<4s4sIHHIIIIIIIIHHHH", b"txts", bytes(4), *[0] * 4, 1, 1, *[0] * 5, *[0] * 4
    )
    gab2 = b"GAB2\x00" + struct.pack("<HI", 2, 2) + b"x\x00"
    gab2 += struct.pack("<HI", 4, len(subtitles)) + subtitles
    return chunk(
        b"RIFF",
        b"AVI "
        + chunk(
            b"LIST",
            b"hdrl"
            + chunk(b"avih", header)
            + chunk(b"LIST", b"strl" + chunk(b"strh", track) + chunk(b"strf", b"")),
        )
        + chunk(b"LIST", b"movi" + chunk(b"00tx", gab2)),
    )


def chunk(name, content):
    return name + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)


@pytest.mark.parametrize("name", ["hls", "concat", "sdp", "hls of a concat"])
def test_a_playlist_inside_an_avi_is_not_followed(name, decoder, canary, tmp_path):
    secret = tmp_path / "secret.mp3"
    secret.write_bytes(SECRET)
    inside = playlists(canary.address, secret)[name].encode()
    (tmp_path / "voice.wav").write_bytes(avi_with_subtitles(inside))

    judged = judge(decoder, tmp_path / "voice.wav")

    assert isinstance(judged, AudioError)
    assert canary.visits == 0 and decoder.crashes == []


def test_a_film_that_keeps_its_sound_in_another_file_gets_none_of_it(decoder, canary, tmp_path):
    other = encode(tmp_path / "other.mov", "mov", tone())
    content = encode(tmp_path / "made.mov", "mov", tone()).read_bytes()
    path = tmp_path / "voice.mov"
    path.write_bytes(with_outside_reference(content, other.as_uri().encode()))

    judge(decoder, path)

    assert canary.visits == 0 and decoder.crashes == []


def with_outside_reference(content, url):
    """Turn "the sound is in this file" into the address of another one, in a film's header."""
    at = content.index(b"url ") - 4
    entry = struct.pack(">I", 13 + len(url)) + b"url \x00\x00\x00\x00" + url + b"\x00"
    grown = bytearray(content[:at] + entry + content[at + 12 :])
    for box in (b"moov", b"trak", b"mdia", b"minf", b"dinf", b"dref"):
        where = grown.index(box) - 4
        size = struct.unpack(">I", grown[where : where + 4])[0]
        grown[where : where + 4] = struct.pack(">I", size + len(entry) - 12)
    return bytes(grown)


def test_a_wav_header_before_a_playlist_makes_noise_of_it_and_nothing_else(
    decoder, canary, tmp_path
):
    secret = tmp_path / "secret.mp3"
    secret.write_bytes(SECRET)
    soundfile.write(tmp_path / "voice.wav", np.zeros(100, np.int16), 8000)
    with (tmp_path / "voice.wav").open("ab") as file:
        file.write(playlists(canary.address, secret)["hls"].encode() * 50)

    judge(decoder, tmp_path / "voice.wav")

    assert canary.visits == 0 and decoder.crashes == []


def test_the_canary_sings_when_a_playlist_is_followed(canary, tmp_path):
    """Else all of the above would prove nothing."""
    import av

    path = tmp_path / "voice.m3u8"
    path.write_text(playlists(canary.address, tmp_path / "none.mp3")["hls"])

    with pytest.raises(av.FFmpegError):
        av.open(str(path), options={"protocol_whitelist": "file,tcp,http"})

    assert canary.visits > 0


def test_no_format_that_opens_other_files_is_allowed():
    """The names are those of FFmpeg's own list; a typing error would allow nothing or too much."""
    opens_others = {"hls", "dash", "concat", "sdp", "rtsp", "rtp", "sap", "image2", "imf", "lavfi"}
    import av

    assert not set(formats.CONTAINERS) & opens_others
    known = {part for name in av.formats_available for part in name.split(",")}
    assert set(formats.CONTAINERS) <= known
    assert set(formats.CODECS) <= set(av.codecs_available)
