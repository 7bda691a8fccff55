"""
What can go wrong, as a user would describe it.

StudioError                what happened, and what to do about it
  SetupError               the environment cannot be made
  NameProblem              a name that cannot be used
  SettingsError            a setting outside its limits
  NotFoundError            a project, voice, job or clip that is not there
    NotDownloadedError     a model that is not on this computer yet
  WorkspaceError           the folder everything lives in cannot be used
    StudioRunningError     another studio works in it already
    StoreTooNewError       a newer Timbre wrote the file
    StoreDamagedError      the file cannot be read
    DiskFullError          there is no room left
  DamagedFolderError       a checkpoint or voice whose manifest does not match
  BundleError              a .timbre file that cannot be written or taken in
  DownloadError            something that could not be fetched from the network
  ConflictError            somebody else changed it first
  EditError                an edit that makes no sense as it is
  DatasetError             a selection of clips that cannot be trained on
  JobError                 a job that cannot be started, moved or stopped
  AudioError               a recording that cannot be used
  TextError                a transcript that cannot be read or written
  EngineError              an engine that is unknown, not installed, or could not load
    UnlearnableError       steps of a training that cannot be learned from
"""

from __future__ import annotations


class StudioError(Exception):
    """A problem the user can act on: what happened, and what to do about it."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(f"{what} {fix}")
        self.what = what
        self.fix = fix


class SetupError(StudioError):
    """The environment cannot be made."""


class NameProblem(StudioError):
    """A name that cannot be used, and why."""


class SettingsError(StudioError):
    """A setting is outside its limits."""


class NotFoundError(StudioError):
    """A project, voice, job or clip that is not there."""


class NotDownloadedError(NotFoundError):
    """A model that is not on this computer yet."""


class WorkspaceError(StudioError):
    """The folder everything lives in cannot be used."""


class StudioRunningError(WorkspaceError):
    """Another studio works in this workspace already."""


class StoreTooNewError(WorkspaceError):
    """A newer Timbre wrote this file."""


class StoreDamagedError(WorkspaceError):
    """A file of the store cannot be read."""


class DiskFullError(WorkspaceError):
    """There is no room left on the disk."""


class DamagedFolderError(StudioError):
    """A checkpoint or a voice whose files are not what its manifest says."""


class BundleError(StudioError):
    """A voice that cannot be packed, or a file of one that is not as Timbre packs it."""


class DownloadError(StudioError):
    """Something could not be fetched from the network."""


class ConflictError(StudioError):
    """Somebody else changed it first."""


class EditError(StudioError):
    """An edit that makes no sense as it is."""


class DatasetError(StudioError):
    """A selection of clips that cannot be trained on."""


class JobError(StudioError):
    """A job that cannot be started, moved or stopped."""


class AudioError(StudioError):
    """A recording that cannot be used."""


class TextError(StudioError):
    """A transcript that cannot be read or written."""


class EngineError(StudioError):
    """An engine is unknown, not installed, or could not load."""


class UnlearnableError(EngineError):
    """Steps of a training came out as what cannot be learned from: the same again fails again."""
