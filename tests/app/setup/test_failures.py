import errno
from pathlib import Path

import pytest

from app.setup.failures import NetworkError, explain, explain_os_error

LOG = Path("/timbre/.venv/setup.log")

# Printed by uv 0.13.8 and pip 23.2 when these things were done to them.
NO_DNS = """\
error: Request failed after 3 retries in 4.0s
  cause: Failed to fetch: `a package`
  cause: client error (Connect)
  cause: dns error
  cause: failed to lookup address information: Temporary failure in name resolution
"""
PIP_NO_DNS = """\
WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(': Failed to \
establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/uv/
ERROR: Could not find a version that satisfies the requirement uv==0.13.8 (from versions: none)
"""
REFUSED = """\
error: Request failed after 3 retries in 4.0s
  cause: tcp connect error
  cause: Connection refused (os error 111)
"""
OFFLINE = """\
error: No solution found when resolving dependencies
  cause: Because absl-py was not found in the cache and you require absl-py==2.5.1, we can conclude \
that your requirements are unsatisfiable.

hint: Packages were unavailable because the network was disabled.
"""
FULL = """\
error: Failed to download `contourpy==1.3.3`
  cause: failed to write to file `/c/.tmpYhidKp/contourpy/_contourpy.so`: No space left on device \
(os error 28)
"""
HASH = """\
error: Failed to download `six==1.17.0`
  cause: Hash mismatch for `six==1.17.0`
"""
READ_ONLY = """\
error: Failed to install: threadpoolctl-3.8.0-py3-none-any.whl (threadpoolctl==3.8.0)
  cause: failed to create directory `/t/.venv/lib/threadpoolctl`: Read-only file system (os error 30)
"""
DENIED = """\
error: Could not acquire lock
  cause: Could not create temporary file
  cause: Permission denied (os error 13) at path "/home/me/.cache/uv/.tmpxvlSdx"
"""
LOCKED = """\
error: Failed to install: torch-2.11.0-cp311-cp311-win_amd64.whl (torch==2.11.0)
  cause: failed to remove file `C:\\timbre\\.venv\\c10.dll`: Access is denied. (os error 5)
"""
CERTIFICATE = """\
error: Request failed after 3 retries in 4.0s
  cause: client error (Connect)
  cause: invalid peer certificate: UnknownIssuer
"""
SERVER = """\
error: Failed to fetch: `a package`
  cause: HTTP status server error (503 Service Unavailable) for url (x)
"""
ENSUREPIP = "/usr/bin/python3: No module named ensurepip\n"


@pytest.mark.parametrize(
    ("output", "system", "what", "fix"),
    [
        (NO_DNS, "Linux", "there is no network", "Connect to the internet"),
        (PIP_NO_DNS, "Linux", "there is no network", "Connect to the internet"),
        (REFUSED, "Linux", "there is no network", "Connect to the internet"),
        (OFFLINE, "Linux", "told to stay offline", "without --offline"),
        (FULL, "Linux", "The disk is full", "Free some gigabytes"),
        (HASH, "Linux", "its hash differs", "mirror"),
        (READ_ONLY, "Linux", "/t/.venv/lib/threadpoolctl cannot be written", "Move the Timbre"),
        (DENIED, "Linux", "/home/me/.cache/uv/.tmpxvlSdx cannot be written", "who may write"),
        (LOCKED, "Windows", "antivirus", "Close it"),
        (CERTIFICATE, "Linux", "certificate", "SSL_CERT_FILE"),
        (SERVER, "Linux", "503 Service Unavailable", "mirror"),
        (ENSUREPIP, "Linux", "without its installer", "apt install python3-venv"),
        ("error: odd\n  cause: very odd.\n", "Linux", "failed: cause: very odd.", str(LOG)),
        ("", "Linux", "the installer said nothing.", str(LOG)),
    ],
)
def test_each_failure_of_the_installer_is_one_sentence_and_what_to_do(output, system, what, fix):
    problem = explain(output, LOG, system)

    assert what in problem.what
    assert fix in problem.fix
    assert "\n" not in str(problem)


def test_only_a_missing_network_lets_an_older_environment_go_on():
    assert isinstance(explain(NO_DNS, LOG, "Linux"), NetworkError)
    assert isinstance(explain("absl was not found", LOG, "Linux", offline=True), NetworkError)
    assert not isinstance(explain(FULL, LOG, "Linux", offline=True), NetworkError)
    assert not isinstance(explain(HASH, LOG, "Linux"), NetworkError)


def test_a_broken_disk_on_linux_is_not_taken_for_an_antivirus():
    problem = explain("error: x: Input/output error (os error 5)", LOG, "Linux")

    assert "antivirus" not in problem.what
    assert "Input/output error" in problem.what


@pytest.mark.parametrize(
    ("number", "system", "what"),
    [
        (errno.ENOSPC, "Linux", "The disk with /t is full."),
        (errno.EROFS, "Linux", "/t cannot be written to."),
        (errno.EACCES, "Darwin", "/t cannot be written to."),
        (errno.EACCES, "Windows", "antivirus"),
        (errno.EIO, "Linux", "/t: Input/output error."),
    ],
)
def test_our_own_failures_to_write_are_sentences_too(number, system, what):
    problem = explain_os_error(OSError(number, "Input/output error", "/t"), system)

    assert what in problem.what
