"""The fixture `wirecert_mock`: mocks that judge what the test's code sent to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ._mock import Mock, mock

_MOCKS = pytest.StashKey["list[tuple[Mock, bool]]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("wirecert")
    group.addoption(
        "--wirecert-strict",
        action="store_true",
        help="fail a test for a violated `should` as for a `must`",
    )


@pytest.fixture
def wirecert_mock(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Callable[..., Mock]]:
    """Starts mocks: `wirecert_mock("amplifier-server", script="agent.yaml")`.

    It takes the arguments of `wirecert.mock`, and `judge=False` where what the test sends is wrong on purpose. After the
    test each mock is stopped, and the test fails if what it sent violates the protocol. The traffic is in `tmp_path`.
    """
    mocks = request.node.stash.setdefault(_MOCKS, [])

    def start(role: str, *, judge: bool = True, **arguments: Any) -> Mock:
        arguments.setdefault("trace", tmp_path / f"wirecert-{len(mocks) + 1}.trace")
        started = mock(role, **arguments)
        mocks.append((started, judge))
        return started

    yield start
    for started, _ in mocks:
        started.close()


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Judges the mocks of a test as a part of the test, so that a violation fails it."""
    __tracebackhide__ = True
    outcome: Any = yield
    if outcome.excinfo is not None:
        return
    strict = item.config.getoption("--wirecert-strict")
    try:
        for started, judge in item.stash.get(_MOCKS, []):
            if judge:
                started.stop().check(strict=strict)
    except Exception as error:
        error.__traceback__ = None
        outcome.force_exception(pytest.fail.Exception(str(error), pytrace=False))


__all__ = ["wirecert_mock"]
