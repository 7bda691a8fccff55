"""Windows: a job's children go when the job goes, however it ends (a Job Object does it)."""

from __future__ import annotations

import ctypes
import sys

_KILL_ON_CLOSE = 0x2000
_BREAKAWAY_OK = 0x0800
_EXTENDED_LIMITS = 9
# Kept open for the life of the process: the system ends the children when it closes.
_job_objects: list[int] = []


class _BasicLimits(ctypes.Structure):
    _fields_ = [
        ("PerProcessUserTimeLimit", ctypes.c_int64),
        ("PerJobUserTimeLimit", ctypes.c_int64),
        ("LimitFlags", ctypes.c_uint32),
        ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t),
        ("ActiveProcessLimit", ctypes.c_uint32),
        ("Affinity", ctypes.c_size_t),
        ("PriorityClass", ctypes.c_uint32),
        ("SchedulingClass", ctypes.c_uint32),
    ]


class _ExtendedLimits(ctypes.Structure):
    _fields_ = [
        ("BasicLimitInformation", _BasicLimits),
        ("IoInfo", ctypes.c_uint64 * 6),
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    ]


def take_children_along() -> None:
    """Put this process in a Job Object that ends its children with it."""
    if sys.platform != "win32":
        raise OSError("Job Objects exist on Windows only.")
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.CreateJobObjectW.restype = ctypes.c_void_p
    kernel.GetCurrentProcess.restype = ctypes.c_void_p
    job = kernel.CreateJobObjectW(None, None)
    limits = _ExtendedLimits()
    limits.BasicLimitInformation.LimitFlags = _KILL_ON_CLOSE | _BREAKAWAY_OK
    done = kernel.SetInformationJobObject(
        ctypes.c_void_p(job), _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)
    )
    this = ctypes.c_void_p(kernel.GetCurrentProcess())
    if not done or not kernel.AssignProcessToJobObject(ctypes.c_void_p(job), this):
        raise ctypes.WinError(ctypes.get_last_error())
    _job_objects.append(job)
