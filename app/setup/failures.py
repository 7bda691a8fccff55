"""Why an installation failed, in one sentence, read from what uv, pip or venv printed."""

from __future__ import annotations

import errno
import re
from pathlib import Path

from engines.errors import SetupError

AGAIN = "start again: it goes on where it stopped."


class NetworkError(SetupError):
    """The packages cannot be fetched, so what is installed already has to do."""


_NETWORK = re.compile(
    r"dns error|tcp connect error|client error \(connect\)|error sending request|request failed after"
    r"|network was disabled|name resolution|failed to establish a new connection|max retries exceeded"
    r"|network is unreachable|no route to host|connection (?:reset|refused|aborted|closed)"
    r"|timed out|error decoding response body|unexpected end of file|incompleteread",
    re.IGNORECASE,
)
_CERTIFICATE = re.compile(
    r"invalid peer certificate|certificate_verify_failed|unknownissuer", re.IGNORECASE
)
_FULL = re.compile(r"no space left|os error 28|os error 112|disk quota exceeded", re.IGNORECASE)
_HASH = re.compile(r"hash mismatch|do not match the hashes", re.IGNORECASE)
_READ_ONLY = re.compile(r"read-only file system|os error 30\b", re.IGNORECASE)
_DENIED = re.compile(r"permission denied|access is denied|os error 13\b", re.IGNORECASE)
# Windows numbers: 5 access denied, 32 in use by another program. On Linux 5 is a broken disk.
_LOCKED = re.compile(r"os error (?:5|32)\b|winerror (?:5|32)\b", re.IGNORECASE)
_NO_ENSUREPIP = re.compile(r"ensurepip is not available|no module named '?ensurepip", re.IGNORECASE)
_HTTP = re.compile(r"HTTP status (?:client|server) error \((\d+[^)]*)\)")


def explain(output: str, log: Path, system: str, offline: bool = False) -> SetupError:
    """Say what happened and what to do, from the output of the program that failed."""
    if _NO_ENSUREPIP.search(output):
        return SetupError(
            "This Python comes without its installer.",
            "Install it (Debian and Ubuntu: `sudo apt install python3-venv`), then start again.",
        )
    if _FULL.search(output):
        return disk_full(None)
    if _HASH.search(output):
        return SetupError(
            "A package that arrived is not the one Timbre was tested with (its hash differs).",
            "Turn off any package mirror, then start again; nothing of it was installed.",
        )
    if system == "Windows" and _LOCKED.search(output):
        return _locked()
    if _READ_ONLY.search(output) or _DENIED.search(output):
        return not_writable(_path_in(output) or str(log.parent))
    return _unreachable(output, offline) or SetupError(
        f"The set-up failed: {_last_line(output)}.", f"The whole story is in {log}."
    )


def explain_os_error(problem: OSError, system: str) -> SetupError:
    """The same for what our own reading and writing met."""
    path = str(problem.filename or "The Timbre folder")
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full(path)
    if system == "Windows" and isinstance(problem, PermissionError):
        return _locked()
    if problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return not_writable(path)
    return SetupError(
        f"The set-up failed: {path}: {problem.strerror or problem}.",
        "Check the disk and the folder, then start again.",
    )


def disk_full(path: str | None) -> SetupError:
    where = f" with {path}" if path else ""
    return SetupError(f"The disk{where} is full.", f"Free some gigabytes, then {AGAIN}")


def not_writable(path: str) -> SetupError:
    return SetupError(
        f"{path} cannot be written to.",
        "Move the Timbre folder to a place of your own, such as your home folder,"
        " or change who may write there, then start again.",
    )


def _locked() -> SetupError:
    return SetupError(
        "Another program holds a file of the environment: mostly an antivirus, or a Timbre that"
        " still runs.",
        f"Close it, or let the antivirus leave the Timbre folder out, then {AGAIN}",
    )


def _unreachable(output: str, offline: bool) -> NetworkError | None:
    missing = "Packages that Timbre needs are not on this computer yet"
    if offline or "network was disabled" in output:
        return NetworkError(
            f"{missing}, and it was told to stay offline.",
            "Start it once with a network and without --offline (or TIMBRE_OFFLINE).",
        )
    if _CERTIFICATE.search(output):
        return NetworkError(
            "The network's certificate is not known, as behind the proxy of a company.",
            "Set SSL_CERT_FILE to the file with the company's certificate, then start again.",
        )
    if refused := _HTTP.search(output):
        return NetworkError(
            f"The server of the packages answered {refused.group(1)}.",
            f"Wait a little, or check your package mirror, then {AGAIN}",
        )
    if _NETWORK.search(output):
        return NetworkError(
            f"{missing}, and there is no network to fetch them from.",
            f"Connect to the internet, then {AGAIN}",
        )
    return None


def _path_in(output: str) -> str | None:
    """The path that a message about permissions names."""
    found = re.search(r"(?:at path |directory |file |cache at )[`\"']([^`\"']+)[`\"']", output)
    return found.group(1) if found else None


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else "the installer said nothing"
