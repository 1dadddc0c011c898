"""What the messages look like in the two editions of AMP."""


class AmpError(Exception):
    """A call that came to nothing. `code` is that of the editor's error, where it sent one."""

    def __init__(self, message: str, code: int | None = None):
        super().__init__(message)
        self.code = code


class Cli:
    name = "cli"
    host = "localhost"
    methods = {"ping", "authenticate", "readFile", "editFile", "getDiagnostics", "openURI"}
    notifications = {
        "selectionDidChange", "visibleFilesDidChange", "pluginMetadata", "userSentMessage", "appendToPrompt",
    }  # fmt: skip

    @staticmethod
    def request(id: str, method: str, params: dict) -> dict:
        return {"id": id, method: params}

    @staticmethod
    def result(response: dict, method: str) -> object:
        """What an answer to this method gives. Raises AmpError where it is an error, or no answer to it."""
        raise_error(response)
        if not isinstance(response.get(method), dict):
            raise AmpError(f"the editor's answer has no {method}")
        return response[method]

    @staticmethod
    def notification(body: dict) -> dict:
        """The object that has the notification's name as its key."""
        return body


class Guide:
    name = "guide"
    host = "127.0.0.1"
    methods = {"readFile", "editFile", "getDiagnostics", "openURI"}
    notifications = {"selectionChanged", "visibleFilesChanged"}

    @staticmethod
    def request(id: str, method: str, params: dict) -> dict:
        return {"id": id, "method": {method: params}}

    @staticmethod
    def result(response: dict, method: str) -> object:
        raise_error(response)
        if "result" not in response:
            raise AmpError("the editor's answer has no result")
        return response["result"]

    @staticmethod
    def notification(body: dict) -> object:
        return body.get("method")


EDITIONS = {"cli": Cli, "guide": Guide}


def raise_error(response: dict) -> None:
    error = response.get("error")
    if isinstance(error, dict):
        raise AmpError(str(error.get("message", "the editor gave no reason")), error.get("code"))
    if error:
        raise AmpError(str(error))  # The guide leaves open what errors look like.
