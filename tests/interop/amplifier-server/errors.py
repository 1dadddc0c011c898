"""Errors: one format, and a status for each code."""

STATUS = {
    "INVALID_REQUEST": 400,
    "APPROVAL_INVALID": 400,
    "MISSING_CREDENTIALS": 401,
    "INVALID_API_KEY": 401,
    "API_KEY_UNAUTHORIZED": 403,
    "SESSION_NOT_FOUND": 404,
    "PROFILE_NOT_FOUND": 404,
    "APPROVAL_TIMEOUT": 408,
    "SESSION_BUSY": 409,
    "RATE_LIMITED": 429,
    "SERVER_ERROR": 500,
    "MODULE_LOAD_FAILED": 500,
    "PROVIDER_ERROR": 502,
    "PROVIDER_UNAVAILABLE": 503,
}


class Failure(Exception):
    """Something that a client gets as an error. Its status is that of the code, where no other is given."""

    def __init__(self, code, message, status=None, **details):
        super().__init__(message)
        self.status = status or STATUS[code]
        self.body = {"error": {"code": code, "message": message, "details": details}}
