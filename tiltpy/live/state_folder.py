"""The state of a live run on disk: one checkpoint, replaced as a whole.

A checkpoint has the positions of all sources and sinks, and the saved session. Where
that is large it has the list of its segments, which lie in files of their own. It is
written beside the last one, made durable, and renamed over it: after a crash one of the
two is there, whole, and the sinks have no less than it says. A lock keeps a second
process out.
"""

import json
import os
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from tiltpy.errors import StateError
from tiltpy.lean_dataclass import dataclass
from tiltpy.live.sinks.sink import Position
from tiltpy.live.state_segments import PREFIX, SegmentStore
from tiltpy.runtime.arrow.files import reason, sync_folder

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FORMAT = 2
"""The version of what is written here."""
LARGE = 1 << 18
"""Bytes from which on a saved session is written in segments."""
_MAGIC = b"tilt live checkpoint\n"
_DIGEST = sha256().digest_size
_NAME, _DRAFT, _LOCK = "checkpoint", "checkpoint.new", "lock"


@dataclass(frozen=True, slots=True)
class Identity:
    """The run that a checkpoint belongs to: its version of tiltpy, and its query."""

    version: str
    query: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A moment of a live run, between two pushes.

    `session` is the saved session, None before the first row and after the end.
    """

    identity: Identity
    sources: dict[str, Position]
    sinks: dict[str, Position]
    session: bytes | None = None
    finished: bool = False


class StateFolder:
    """A folder with the last checkpoint of one run; locked while it is open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._segments = SegmentStore(folder)
        self._lock: int | None = None

    def open(self) -> None:
        """Make the folder, if there is none, and lock it."""
        if not self.folder.parent.is_dir():
            raise StateError(
                f"{self.folder}: there is no directory {self.folder.parent}; make it "
                "first"
            )
        try:
            self.folder.mkdir(exist_ok=True)
            names = {path.name for path in self.folder.iterdir()}
            others = {
                name
                for name in names - {_NAME, _DRAFT, _LOCK}
                if not name.startswith(PREFIX)
            }
            if others:
                raise StateError(
                    f"{self.folder}: is no state folder, found {min(others)} in it; "
                    "name an empty or a new one"
                )
            self._lock = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise StateError(
                f"{self.folder}: cannot be used as a state folder: {reason(error)}"
            ) from error
        self._take_lock(self._lock)

    def _take_lock(self, descriptor: int) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(descriptor, 20).decode("ascii", "replace").strip()
            self.close()
            raise StateError(
                f"{self.folder}: process {holder or '?'} uses this state folder; end "
                "it, or name another folder"
            ) from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())

    def read(self, identity: Identity) -> Checkpoint | None:
        """Read the checkpoint; None if there is none. `StateError` if it is another's.

        Nothing is changed.
        """
        path = self.folder / _NAME
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StateError(f"{path}: not readable: {reason(error)}") from error
        header, session = _split(path, content)
        if header["format"] != FORMAT or header["version"] != identity.version:
            raise StateError(
                f"{self.folder}: was written by tiltpy {header['version']}, and this "
                f"is {identity.version}; end the run with that version, or {_ANEW}"
            )
        if header["query"] != identity.query:
            raise StateError(
                f"{self.folder}: belongs to another query, or to one with other "
                f"parameters or ingress options; name another folder, or {_ANEW}"
            )
        if header["session"] == "segments":
            session = self._segments.read(session)
        return Checkpoint(
            identity,
            header["sources"],
            header["sinks"],
            None if header["session"] == "none" else session,
            header["finished"],
        )

    def write(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint, and return when the disk holds the new one."""
        session, kind = checkpoint.session or b"", "whole"
        try:
            if len(session) >= LARGE:
                session, kind = self._segments.write(session), "segments"
            else:
                self._segments.forget()
            self._replace(self._encode(checkpoint, kind), session)
            self._segments.tidy()
        except OSError as error:
            raise StateError(
                f"{self.folder}: no checkpoint written: {reason(error)}; mend that and "
                "start again: it goes on from the last one"
            ) from error

    def _encode(self, checkpoint: Checkpoint, kind: str) -> bytes:
        """Encode all of a checkpoint but its session, which is of some kind."""
        header = {
            "format": FORMAT,
            **asdict(checkpoint.identity),
            "sources": checkpoint.sources,
            "sinks": checkpoint.sinks,
            "session": "none" if checkpoint.session is None else kind,
            "finished": checkpoint.finished,
        }
        try:
            return json.dumps(header, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise StateError(
                f"a position of a source or sink is no JSON: {error}; positions are "
                "made of numbers, strings, lists and dicts"
            ) from error

    def _replace(self, header: bytes, session: bytes) -> None:
        """Replace the file of the checkpoint, durably."""
        parts = [_MAGIC, header, b"\n", session]
        digest = sha256()
        for part in parts:
            digest.update(part)
        draft = self.folder / _DRAFT
        with draft.open("wb") as file:
            file.write(digest.digest())
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.folder / _NAME)
        sync_folder(self.folder)

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


_ANEW = "begin anew: remove the state folder and the outputs"


def _split(path: Path, content: bytes) -> tuple[dict[str, Any], bytes]:
    """Split a checkpoint into its header and the saved session."""
    digest, body = content[:_DIGEST], content[_DIGEST:]
    if not body.startswith(_MAGIC):
        raise StateError(f"{path}: is no checkpoint; name another folder, or {_ANEW}")
    if sha256(body).digest() != digest:
        raise StateError(
            f"{path}: is damaged, its checksum does not fit; bring a copy back "
            f"together with the outputs of that time, or {_ANEW}"
        )
    header, _, session = body[len(_MAGIC) :].partition(b"\n")
    return json.loads(header), session
