"""
Which formats may be opened, and what a file is that may not. Decisions only.

FFmpeg knows hundreds of formats and some of them open other files or addresses by themselves:
playlists (hls, dash, concat), descriptions of streams (sdp, rtsp), image sequences. A list of what
is allowed cannot overlook one; it is given to FFmpeg, which compares before it reads a header.
"""

from __future__ import annotations

import codecs

# Names of FFmpeg's demuxers. Each reads one file, with sound in it, and nothing beside it.
CONTAINERS = (
    *("wav", "w64", "aiff", "caf", "au", "flac", "wv", "tta", "tak", "ape", "shn", "mpc", "mpc8"),
    *("mp3", "aac", "loas", "ac3", "eac3", "dts", "dtshd", "truehd", "mlp", "amr", "gsm", "voc"),
    *("ogg", "mov", "matroska", "webm", "asf", "avi", "flv", "mpegts", "mpeg", "rm", "nut", "mxf"),
    *("dsf", "iff", "sox", "nistsphere", "oma", "aa", "dss", "qcp", "wtv"),
)
# Names of FFmpeg's decoders, all of them for sound: a picture is never decoded.
CODECS = (
    *("aac", "aac_latm", "ac3", "eac3", "mp1float", "mp2float", "mp3float", "mp1", "mp2", "mp3"),
    *("mp3adufloat", "mp3on4float", "vorbis", "opus", "speex", "flac", "alac", "als", "ape", "tak"),
    *("tta", "wavpack", "shorten", "mpc7", "mpc8", "truehd", "mlp", "dca", "wmav1", "wmav2"),
    *("wmapro", "wmalossless", "wmavoice", "amrnb", "amrwb", "gsm", "gsm_ms", "g722", "g726"),
    *("g726le", "g729", "cook", "sipr", "ralf", "real_144", "real_288", "atrac1", "atrac3"),
    *("atrac3plus", "qdm2", "qdmc", "mace3", "mace6", "nellymoser", "truespeech", "dss_sp"),
    *("qcelp", "evrc", "dsd_lsbf", "dsd_msbf", "dsd_lsbf_planar", "dsd_msbf_planar", "s302m"),
    *("adpcm_ms", "adpcm_ima_wav", "adpcm_ima_qt", "adpcm_swf", "adpcm_yamaha"),
    *("pcm_alaw", "pcm_mulaw", "pcm_bluray", "pcm_dvd", "pcm_u8", "pcm_s8", "pcm_s8_planar"),
    *("pcm_s16le", "pcm_s16be", "pcm_s16le_planar", "pcm_s16be_planar", "pcm_u16le", "pcm_u16be"),
    *("pcm_s24le", "pcm_s24be", "pcm_s24le_planar", "pcm_u24le", "pcm_u24be", "pcm_s24daud"),
    *("pcm_s32le", "pcm_s32be", "pcm_s32le_planar", "pcm_u32le", "pcm_u32be", "pcm_s64le"),
    *("pcm_s64be", "pcm_f16le", "pcm_f24le", "pcm_f32le", "pcm_f32be", "pcm_f64le", "pcm_f64be"),
)
# What these say of their length is counted, not guessed from the bit rate.
LENGTH_IS_EXACT = frozenset({"flac", "mov,mp4,m4a,3gp,3g2,mj2", "wv", "tta", "caf", "aiff", "ape"})
# Their packets carry a checksum; a packet that fails it is noise at full level.
CHECKED_CODECS = frozenset({"flac", "wavpack", "tta"})
HEAD_BYTES = 4096

# First bytes -> what the file is. Only for a file that was refused: they make the sentence.
_PLAYLISTS = (b"#extm3u", b"ffconcat", b"[playlist]", b"[reference]", b"<asx", b"<smil", b"v=0")
_OTHERS: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a ZIP archive or an office document"),
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"\x1f\x8b", "a compressed archive"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"MThd", "a MIDI file, notes without sound"),
    (b"MZ", "a program"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3", "a database"),
)
_RECORDINGS = (b"RIFF", b"fLaC", b"OggS", b"ID3", b"FORM", b"caff", b"\x1aE\xdf\xa3", b"0&\xb2u")
_COPY_AGAIN = "Copy it again from where it came from, or record it again."
_CHOOSE = "Choose audio or video files."
_CONVERT = "Try it in a player; if it plays there, save it from there as WAV, FLAC or MP3."


def refusal(head: bytes, size: int) -> tuple[str, str]:
    """Say what a file is that cannot be opened, as what follows its name, and what to do."""
    if size == 0:
        return "is empty.", _COPY_AGAIN
    if not any(head):
        return "begins with nothing but zeros: it was never filled.", _COPY_AGAIN
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if _is_playlist(start.lower()):
        return "only names other files or addresses, it is not a recording.", "Add those files."
    for magic, what in _OTHERS:
        if start.startswith(magic):
            return f"is {what}, not a recording.", _CHOOSE
    if head[4:8] in (b"ftyp", b"mdat", b"moov", b"wide", b"free"):  # MP4: its index comes last
        return "is not complete: the list of where its sound lies is missing.", _COPY_AGAIN
    if head.startswith(_RECORDINGS):
        return "begins like a recording, but what follows is missing or damaged.", _COPY_AGAIN
    if _is_text(head):
        return "is text, not a recording.", _CHOOSE
    return "is damaged, or not of a kind that Timbre can read.", _CONVERT


def is_protected(container: str, head: bytes, tail: bytes) -> bool:
    """Whether what could not be decoded is encrypted: shop purchases and borrowed audio books."""
    if container.startswith("asf"):
        return _WMA_ENCRYPTION in head
    if not container.startswith("mov"):
        return False
    marks = (b"schm", b"drms", b"aavd")
    return any(b"moov" in part and mark in part for part in (head, tail) for mark in marks)


# The id of the Content Encryption object in the header of a WMA file.
_WMA_ENCRYPTION = bytes.fromhex("fbb3112223bdd211b4b700a0c955fc6e")


def cut_off_bytes(head: bytes, size: int) -> int:
    """How many bytes a WAV file announces and does not have. FFmpeg passes over it in silence."""
    if head[:4] != b"RIFF" or head[8:12] != b"WAVE":
        return 0
    announced = int.from_bytes(head[4:8], "little") + 8
    # Programs that write into a pipe cannot know the size; they leave 0 or the greatest number.
    return max(0, announced - size) if 8 < announced < 0xFFFFFF00 else 0


def _is_playlist(start: bytes) -> bool:
    return start.startswith(_PLAYLISTS) or b"<playlist" in start or b"<mpd" in start


def _is_text(head: bytes) -> bool:
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)  # may end within a character
    except UnicodeDecodeError:
        return False
    return all(sign.isprintable() or sign in "\r\n\t\f" for sign in text)
