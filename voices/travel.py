"""Voices of the library out as one file, and in again, under the name and with the consent they have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from voices import bundle, library, names
from voices.bundle_manifest import Manifest
from voices.bundle_parts import Told, untold
from voices.library import Consent, Voice
from voices.workspace import Workspace


def pack(voice: Voice, target: Path, told: Told = untold) -> Manifest:
    """Write a voice as one file; it appears when all of it is there, and never over another."""
    facts = json.dumps(facts_to_tell(voice), ensure_ascii=False, indent=1).encode()
    return bundle.write_bundle(voice.folder, target, facts=facts, told=told)


def unpack(workspace: Workspace, path: Path, name: str = "") -> Voice:
    """Take a packed voice into the library; one that is not whole and harmless leaves nothing."""
    voice_id = names.new_id()
    manifest = bundle.read_bundle(path, workspace.voices / voice_id)
    consent = _consent(manifest.consent)
    return library.list_one(workspace, voice_id, name or manifest.name, consent)


def facts_to_tell(voice: Voice) -> dict[str, Any]:
    """What travels of what is known: the library's name and consent in place of the run's."""
    said, consent = dict(voice.facts), voice.consent
    known = {"whose": consent.whose, "agreed": consent.agreed} if consent.whose else {}
    told: dict[str, Any] = json.loads(json.dumps({**said, "name": voice.name, "consent": known}))
    return told


def _consent(said: Any) -> Consent:
    agreed = said.get("agreed")
    return Consent(str(said.get("whose", "")), agreed if isinstance(agreed, bool) else None)
