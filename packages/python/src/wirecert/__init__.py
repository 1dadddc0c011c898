"""wirecert's mocks for Python tests.

>>> import wirecert
>>> with wirecert.mock("amplifier-server") as server:
...     server.url.startswith("http://127.0.0.1:")
True

With pytest, use the fixture `wirecert_mock`: it also judges what the code under test sent.
"""

from ._binary import find_binary
from ._mock import Finding, Mock, MockError, Verdict, mock

__all__ = ["Finding", "Mock", "MockError", "Verdict", "find_binary", "mock"]
