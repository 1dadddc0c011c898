"""Mocks of servers: start, steer, judge.

The main class is `Mock`, a running `wirecert mock`. Its commands are those of the program: one JSON object a line.
"""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._binary import find_binary

START_TIMEOUT = 30.0
COMMAND_TIMEOUT = 30.0
STOP_TIMEOUT = 10.0


class MockError(Exception):
    """The mock could not be started or stopped, or refused a command."""


@dataclass(frozen=True)
class Finding:
    """A requirement that the code under test violated."""

    requirement: str
    """The id, such as `amplifier/2025-12-09/create/client-profile`."""
    level: str
    """`must`, `should` or `may`."""
    message: str
    """What is wrong."""
    path: str | None
    """Where in the message, as a JSON Pointer."""
    expected: Any
    actual: Any

    def __str__(self) -> str:
        lines = [f"{self.level} {self.requirement}: {self.message}"]
        if self.path:
            lines.append(f"    at       {self.path}")
        if self.expected is not None:
            lines.append(f"    expected {json.dumps(self.expected, ensure_ascii=False)}")
        if self.actual is not None:
            lines.append(f"    actual   {json.dumps(self.actual, ensure_ascii=False)}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Verdict:
    """What the rules say about the traffic of a mock."""

    findings: tuple[Finding, ...]
    """What the code under test violated, the most important finding first."""
    trace: Path
    """The recorded traffic, for `wirecert view`."""

    def violations(self, *, strict: bool = False) -> list[Finding]:
        """The findings that fail a test: each violated `must`, and with `strict` each violated `should` too."""
        levels = {"must", "should"} if strict else {"must"}
        return [finding for finding in self.findings if finding.level in levels]

    def check(self, *, strict: bool = False) -> None:
        """Raises `AssertionError` where the code under test violated the protocol."""
        violations = self.violations(strict=strict)
        if violations:
            shown = "\n".join(f"- {finding}" for finding in violations)
            raise AssertionError(
                f"the code under test violates the protocol:\n{shown}\nlook at the traffic: wirecert view {self.trace}"
            )


class Mock:
    """A running mock. Use `mock()` to start one."""

    def __init__(self, process: subprocess.Popen[str], trace: Path, own_folder: Path | None) -> None:
        self._process = process
        self._own_folder = own_folder
        self._lock = threading.Lock()
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._errors: list[str] = []
        self._verdict: Verdict | None = None
        self._readers = [
            threading.Thread(target=self._read_lines, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        self.trace_file = trace
        """Where the traffic is recorded, in wirecert's format of traces."""
        self.ready: dict[str, Any] = {}
        """The first line of the mock, which says where it is."""

    # What the first line says.

    @property
    def url(self) -> str:
        """The address, such as `http://127.0.0.1:8765/` or `ws://127.0.0.1:43289`."""
        return self.ready["url"]

    @property
    def port(self) -> int:
        return self.ready["port"]

    @property
    def lockfile(self) -> Path:
        """The lockfile of a mock editor."""
        return Path(self.ready["lockfile"])

    @property
    def token(self) -> str:
        """The secret in the lockfile of a mock editor."""
        return json.loads(self.lockfile.read_text())["authToken"]

    # Commands.

    def steer(self, command: str, **parameters: Any) -> Any:
        """Sends a command, such as `steer("open", path="a.txt")`, and returns its result.

        The mock has sent everything that the command causes when this returns.

        Raises:
            MockError: the mock refused the command, or is gone.
        """
        with self._lock:
            self._write({command: parameters})
            response = json.loads(self._line(COMMAND_TIMEOUT, f"no response to the command `{command}`"))
        if "error" in response:
            raise MockError(f"{command}: {response['error']}")
        return response.get("ok")

    def switch(self, name: str, on: bool = True) -> None:
        """Switches a flaw or a freedom on or off."""
        self.steer("switch", name=name, on=on)

    # The traffic.

    def trace(self) -> list[dict[str, Any]]:
        """The events recorded so far, in order."""
        events = []
        for line in self.trace_file.read_text(encoding="utf-8").splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                break  # The last line is being written.
            if "kind" in event:
                events.append(event)
        return events

    # The end.

    def stop(self) -> Verdict:
        """Stops the mock and judges the traffic by the rules of the protocol.

        Raises:
            MockError: the mock failed, or the traffic cannot be judged.
        """
        if self._verdict is None:
            self._end()
            self._verdict = self._judge()
        return self._verdict

    def close(self) -> None:
        """Stops the mock and removes the trace, unless its place was given. Judges nothing."""
        self._end()
        if self._own_folder is not None:
            shutil.rmtree(self._own_folder, ignore_errors=True)

    def __enter__(self) -> Mock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _end(self) -> None:
        if self._process.stdin and not self._process.stdin.closed:
            try:
                # The end of its stdin ends the mock.
                self._process.stdin.close()
            except OSError:
                pass
        try:
            code = self._process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise MockError(f"the mock did not end within {STOP_TIMEOUT:g} seconds") from None
        for reader in self._readers:
            reader.join()
        if code != 0:
            raise MockError(self._failure(f"the mock ended with exit code {code}"))

    def _judge(self) -> Verdict:
        # No user's file decides what is judged.
        command = [find_binary(), "check", str(self.trace_file), "--report", "json=-", "--color", "never", "-q"]
        done = subprocess.run(command, capture_output=True, encoding="utf-8")
        try:
            report = json.loads(done.stdout)
        except ValueError:
            raise MockError(f"the traffic could not be judged: {(done.stderr or done.stdout).strip()}") from None
        found = [finding for subject in report["subjects"] for finding in subject["findings"]]
        return Verdict(
            findings=tuple(
                Finding(
                    requirement=finding["requirement"],
                    level=finding["level"],
                    message=finding["message"],
                    path=finding.get("path"),
                    expected=finding.get("expected"),
                    actual=finding.get("actual"),
                )
                for finding in found
                if finding["blame"] == "subject"
            ),
            trace=self.trace_file,
        )

    def _write(self, command: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise MockError(self._failure("the mock takes no more commands")) from None

    def _line(self, timeout: float, failure: str) -> str:
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            raise MockError(f"{failure} within {timeout:g} seconds") from None
        if line is None:
            self._lines.put(None)
            self._process.wait()
            self._readers[1].join()
            raise MockError(self._failure(f"{failure}: the mock has ended"))
        return line

    def _failure(self, what: str) -> str:
        said = "".join(self._errors).strip()
        return f"{what}: {said}" if said else what

    def _read_lines(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._errors.append(line)


def mock(
    role: str,
    *,
    edition: str | None = None,
    workspace: str | Path | None = None,
    script: str | Path | Mapping[str, Any] | None = None,
    data: str | Path | Mapping[str, Any] | None = None,
    flaws: Sequence[str] = (),
    freedoms: Sequence[str] = (),
    port: int | None = None,
    data_home: str | Path | None = None,
    token: str | None = None,
    latency: str | None = None,
    trace: str | Path | None = None,
    options: Sequence[str] = (),
) -> Mock:
    """Starts a mock of a server and waits until it is ready.

    Args:
        role: `amp-server`, `openctx-provider` or `amplifier-server`.
        edition: the edition of the protocol; the first one of the protocol, if not given.
        workspace: the folder that the mock has open; a new, empty one, if not given.
        script: what the mock does by itself: a file, or its content.
        data: what a provider returns: a file, or its content.
        flaws, freedoms: how the mock is wrong or different; `wirecert mock ROLE --list-flaws` lists the names.
        port: the port to listen on; a free one, if not given.
        data_home: where a mock editor puts its lockfile; a new folder, if not given. `Mock.lockfile` says where it is.
        token: the secret of a mock editor; a generated one, if not given.
        latency: how long messages are delayed, such as `300ms` or `20ms..200ms`.
        trace: where to record the traffic; a temporary file that `close()` removes, if not given.
        options: further options of `wirecert mock`.

    Raises:
        MockError: the mock could not be started.
    """
    if role.endswith("-client"):
        raise ValueError(f"`{role}` is a client: `wirecert certify` plays it against a server")
    folder = Path(tempfile.mkdtemp(prefix="wirecert-"))
    own_folder = folder if trace is None else None
    place = folder / "traffic.trace" if trace is None else Path(trace).absolute()
    if workspace is None:
        workspace = folder / "workspace"
        workspace.mkdir()
    command = [find_binary(), "mock", role, "--stdin", "--trace", str(place), "--workspace", str(workspace)]
    # A language of YAML is JSON.
    for option, value in (("--script", script), ("--data", data)):
        if isinstance(value, Mapping):
            file = folder / f"{option[2:]}.yaml"
            file.write_text(json.dumps(value), encoding="utf-8")
            value = file
        if value is not None:
            command += [option, str(value)]
    if role.startswith("amp-"):
        command += ["--data-home", str(data_home or folder / "data")]
    for option, given in (("--edition", edition), ("--port", port), ("--token", token), ("--latency", latency)):
        if given is not None:
            command += [option, str(given)]
    for option, names in (("--flaw", flaws), ("--freedom", freedoms)):
        for name in names:
            command += [option, name]
    command += ["--color", "never", *options]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    )
    started = Mock(process, place, own_folder)
    try:
        started.ready = json.loads(started._line(START_TIMEOUT, "the mock did not get ready"))
    except MockError:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return started
