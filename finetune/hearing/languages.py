"""The languages that a Whisper can be told of, by their codes."""

from __future__ import annotations

from engines.errors import SettingsError

# faster-whisper's own, less "jw", which the rest of the world writes "jv".
CODES = frozenset({
    "af", "am", "ar", "as", "az", "ba", "be", "bg", "bn", "bo", "br", "bs", "ca", "cs", "cy",
    "da", "de", "el", "en", "es", "et", "eu", "fa", "fi", "fo", "fr", "gl", "gu", "ha", "haw",
    "he", "hi", "hr", "ht", "hu", "hy", "id", "is", "it", "ja", "ka", "kk", "km", "kn", "ko",
    "la", "lb", "ln", "lo", "lt", "lv", "mg", "mi", "mk", "ml", "mn", "mr", "ms", "mt", "my",
    "ne", "nl", "nn", "no", "oc", "pa", "pl", "ps", "pt", "ro", "ru", "sa", "sd", "si", "sk",
    "sl", "sn", "so", "sq", "sr", "su", "sv", "sw", "ta", "te", "tg", "th", "tk", "tl", "tr",
    "tt", "uk", "ur", "uz", "vi", "yi", "yo", "yue", "zh",
})  # fmt: skip


def check(code: str) -> None:
    """Raise for what is no language here; nothing means that it is not known yet."""
    if code and code not in CODES:
        raise SettingsError(f"{code!r:.20} is no language here.", "Choose one from the list.")
