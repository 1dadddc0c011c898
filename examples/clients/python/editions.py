"""What the messages look like in the two editions of AMP."""


class AmpError(Exception):
    """A call that came to nothing. `code` is that of the editor's error, where it sent one."""

    def __init__(self, message: str, code: object = None):
        super().__init__(message)
        self.code = code


class Cli:
    name = "cli"
    host = "localhost"
    notifications = {
        "selectionDidChange", "visibleFilesDidChange", "pluginMetadata", "userSentMessage", "appendToPrompt",
    }  # fmt: skip
    # Each method, with the members of its result. The first has to be there.
    methods = {
        "ping": {"message": str},
        "authenticate": {"authenticated": bool},
        "readFile": {"success": bool, "content": str, "message": str},
        "editFile": {"success": bool, "message": str},
        "getDiagnostics": {"entries": list},
        "openURI": {"success": bool, "message": str},
    }

    @staticmethod
    def request(id: str, method: str, params: dict) -> dict:
        return {"id": id, method: params}

    @staticmethod
    def result(response: dict, method: str) -> object:
        return response.get(method)

    @staticmethod
    def notification(body: dict) -> object:
        """The object that has the notification's name as its key."""
        return body


class Guide:
    name = "guide"
    host = "127.0.0.1"
    notifications = {"selectionChanged", "visibleFilesChanged"}
    methods = {
        "readFile": {"content": str},
        "editFile": {"success": bool},
        "getDiagnostics": list,
        "openURI": {"success": bool},
    }

    @staticmethod
    def request(id: str, method: str, params: dict) -> dict:
        return {"id": id, "method": {method: params}}

    @staticmethod
    def result(response: dict, method: str) -> object:
        return response.get("result")

    @staticmethod
    def notification(body: dict) -> object:
        return body.get("method")


EDITIONS = {"cli": Cli, "guide": Guide}


def outcome(edition: type, response: dict, method: str) -> object:
    """What a response to this method gives. Raises AmpError where it is an error, a failure, or no such response."""
    if error := response.get("error"):
        if isinstance(error, dict):
            raise AmpError(str(error.get("message", "the editor gave no reason")), error.get("code"))
        raise AmpError(str(error))  # The guide leaves open what errors look like.
    result, expected = edition.result(response, method), edition.methods[method]
    if isinstance(result, dict) and result.get("success") is False:
        raise AmpError(str(result.get("message", f"the editor says that {method} failed")))
    if not fits(result, expected):
        raise AmpError(f"the editor's response is none to {method}")
    if method == "readFile" and "content" not in result:
        raise AmpError("the editor succeeded in reading the file, and gave no content")
    return result


def fits(result: object, expected: object) -> bool:
    if isinstance(expected, type):
        return isinstance(result, expected)
    if not isinstance(result, dict) or next(iter(expected)) not in result:
        return False
    return all(isinstance(result[key], type) for key, type in expected.items() if key in result)
