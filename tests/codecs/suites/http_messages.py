"""Messages of HTTP/1.1 that are wrong, or look wrong: classes of request smuggling and of parsing errors.

`wrong` says whether RFC 9110 or RFC 9112 forbids to send it; `refuse` whether a recipient has to refuse it (`must`), may do
so (`may`), or has to take it (`no`).
"""

import dataclasses

JSON = b"Content-Type: application/json\r\n"


@dataclasses.dataclass
class Message:
    """A message, whose bytes depend on its body."""

    group: str
    name: str
    make: object
    wrong: bool
    refuse: str


def lines_of_body():
    """How the end of the body is told: name, header lines, framed body, wrong, refuse."""

    def length(value):
        return lambda body: (b"Content-Length: " + value(str(len(body)).encode()) + b"\r\n", body)

    def coding(value, more=b""):
        return lambda body: (b"Transfer-Encoding: " + value + b"\r\n" + more, chunked(body))

    def chunk(form):
        return lambda body: (b"Transfer-Encoding: chunked\r\n", form(b"%x" % len(body), body))

    def lengths(first, second):
        return lambda body: (
            b"Content-Length: " + first(len(body)) + b"\r\nContent-Length: " + second(len(body)) + b"\r\n",
            body,
        )

    def number(more=0):
        return lambda size: b"%d" % (size + more)

    def both(first):
        def make(body):
            two = [b"Content-Length: %d\r\n" % len(chunked(body)), b"Transfer-Encoding: chunked\r\n"]
            return b"".join(two if first else two[::-1]), chunked(body)

        return make

    end = b"\r\n0\r\n\r\n"
    return [
        ("length", "plain", length(lambda n: n), False, "no"),
        ("length", "zeros before it", length(lambda n: b"00" + n), False, "no"),
        ("length", "spaces and tabs around it", length(lambda n: b" \t" + n + b"\t "), False, "no"),
        ("length", "twice the same", lengths(number(), number()), True, "may"),
        ("length", "twice the same in a list", length(lambda n: n + b", " + n), True, "may"),
        ("length", "two that differ", lengths(number(), number(1)), True, "must"),
        ("length", "a plus", length(lambda n: b"+" + n), True, "must"),
        ("length", "a minus", length(lambda n: b"-" + n), True, "must"),
        ("length", "hexadecimal", length(lambda n: b"0x" + n), True, "must"),
        ("length", "a fraction", length(lambda n: n + b".0"), True, "must"),
        ("length", "text after it", length(lambda n: n + b" bytes"), True, "must"),
        ("length", "empty", length(lambda n: b""), True, "must"),
        ("length", "beyond 64 bits", length(lambda n: b"18446744073709551616"), True, "must"),
        ("length", "a vertical tab before it", length(lambda n: b"\x0b" + n), True, "must"),
        ("length", "a form feed after it", length(lambda n: n + b"\x0c"), True, "must"),
        ("length", "a no-break space before it", length(lambda n: b"\xc2\xa0" + n), True, "must"),
        ("length", "digits that are no ASCII", length(lambda n: "٢٧".encode()), True, "must"),
        ("length and coding", "CL.TE", both(True), True, "may"),
        ("length and coding", "TE.CL", both(False), True, "may"),
        ("coding", "chunked", coding(b"chunked"), False, "no"),
        ("coding", "another case", coding(b"cHuNkEd"), False, "no"),
        ("coding", "TE.TE: unknown", coding(b"xchunked"), True, "must"),
        ("coding", "TE.TE: chunked, then unknown", coding(b"chunked, x"), True, "must"),
        ("coding", "TE.TE: identity", coding(b"identity"), True, "must"),
        ("coding", "TE.TE: two lines", coding(b"chunked", b"Transfer-Encoding: x\r\n"), True, "must"),
        ("coding", "TE.TE: chunked twice", coding(b"chunked, chunked"), True, "must"),
        ("coding", "TE.TE: chunked on two lines", coding(b"chunked", b"Transfer-Encoding: chunked\r\n"), True, "must"),
        ("coding", "TE.TE: a parameter", coding(b"chunked;a=b"), True, "must"),
        ("coding", "TE.TE: in quotes", coding(b'"chunked"'), True, "must"),
        ("coding", "TE.TE: a vertical tab before it", coding(b"\x0bchunked"), True, "must"),
        ("coding", "TE.TE: a form feed after it", coding(b"chunked\x0c"), True, "must"),
        ("coding", "TE.TE: a no-break space before it", coding(b"\xc2\xa0chunked"), True, "must"),
        ("coding", "TE.TE: a next-line character after it", coding(b"chunked\xc2\x85"), True, "must"),
        ("coding", "TE.TE: NUL after it", coding(b"chunked\0"), True, "must"),
        ("coding", "TE.TE: a letter that only Unicode folds", coding("chunKed".replace("K", "\u212a").encode()), True, "must"),
        ("coding", "an empty element of the list", coding(b", chunked"), True, "may"),
        ("chunks", "upper case", chunk(lambda n, b: n.upper() + b"\r\n" + b + end), False, "no"),
        ("chunks", "zeros before the size", chunk(lambda n, b: b"000" + n + b"\r\n" + b + end), False, "no"),
        ("chunks", "several zeros as the last", chunk(lambda n, b: n + b"\r\n" + b + b"\r\n000\r\n\r\n"), False, "no"),
        ("chunks", "an extension", chunk(lambda n, b: n + b";a=b\r\n" + b + end), False, "no"),
        ("chunks", "an extension in quotes", chunk(lambda n, b: n + b';a="b;c"\r\n' + b + end), False, "no"),
        ("chunks", "a space before an extension", chunk(lambda n, b: n + b" ;a=b\r\n" + b + end), False, "no"),
        ("chunks", "a space after the size", chunk(lambda n, b: n + b" \r\n" + b + end), True, "may"),
        ("chunks", "a space before the size", chunk(lambda n, b: b" " + n + b"\r\n" + b + end), True, "must"),
        ("chunks", "NUL in an extension", chunk(lambda n, b: n + b";a=\0\r\n" + b + end), True, "may"),
        ("chunks", "a carriage return in an extension", chunk(lambda n, b: n + b";a\rb\r\n" + b + end), True, "may"),
        ("chunks", "a line feed ends an extension", chunk(lambda n, b: n + b";a\n" + b + end), True, "may"),
        ("chunks", "a line feed after the size", chunk(lambda n, b: n + b"\n" + b + end), True, "may"),
        ("chunks", "a line feed after the data", chunk(lambda n, b: n + b"\r\n" + b + b"\n0\r\n\r\n"), True, "may"),
        ("chunks", "a prefix 0x", chunk(lambda n, b: b"0x" + n + b"\r\n" + b + end), True, "must"),
        ("chunks", "a plus", chunk(lambda n, b: b"+" + n + b"\r\n" + b + end), True, "must"),
        ("chunks", "a minus", chunk(lambda n, b: b"-" + n + b"\r\n" + b + end), True, "must"),
        ("chunks", "an underscore", chunk(lambda n, b: b"0_" + n + b"\r\n" + b + end), True, "must"),
        ("chunks", "no size", chunk(lambda n, b: b"\r\n" + b + end), True, "must"),
        ("chunks", "beyond 64 bits", chunk(lambda n, b: b"1" + b"0" * 14 + n.zfill(3) + b"\r\n" + b + end), True, "must"),
        ("chunks", "data beyond the size", chunk(lambda n, b: n + b"\r\n" + b + b"x" + end), True, "must"),
        ("trailers", "one", chunk(lambda n, b: n + b"\r\n" + b + b"\r\n0\r\nX-Sum: 1\r\n\r\n"), False, "no"),
        ("trailers", "without a colon", chunk(lambda n, b: n + b"\r\n" + b + b"\r\n0\r\nX-Sum\r\n\r\n"), True, "may"),
        ("trailers", "a space before the colon", chunk(lambda n, b: n + b"\r\n" + b + b"\r\n0\r\nX : 1\r\n\r\n"), True, "may"),
        ("trailers", "NUL", chunk(lambda n, b: n + b"\r\n" + b + b"\r\n0\r\nX: \0\r\n\r\n"), True, "may"),
        ("trailers", "a length", chunk(lambda n, b: n + b"\r\n" + b + b"\r\n0\r\nContent-Length: 1\r\n\r\n"), True, "may"),
    ]


def header_lines():
    """Lines in a head with a plain length: name, lines, wrong, refuse."""
    return [
        ("headers", "an unknown one", b"X-A: b\r\n", False, "no"),
        ("headers", "an empty value", b"X-A:\r\n", False, "no"),
        ("headers", "bytes beyond ASCII in a value", b"X-A: \xe9\xff\r\n", False, "no"),
        ("headers", "a space before the colon", b"X-A : b\r\n", True, "must"),
        ("headers", "a tab before the colon", b"X-A\t: b\r\n", True, "must"),
        ("headers", "a line that is continued", b"X-A: b\r\n c\r\n", True, "may"),
        ("headers", "the first line is continued", b" X-A: b\r\n", True, "may"),
        ("headers", "no colon", b"X-A\r\n", True, "must"),
        ("headers", "no name", b": b\r\n", True, "must"),
        ("headers", "a space in a name", b"X A: b\r\n", True, "must"),
        ("headers", "a name beyond ASCII", b"X-\xc3\xa9: b\r\n", True, "must"),
        ("headers", "NUL in a name", b"X\0A: b\r\n", True, "must"),
        ("headers", "NUL in a value", b"X-A: b\0c\r\n", True, "may"),
        ("headers", "a carriage return in a value", b"X-A: b\rc\r\n", True, "may"),
        ("headers", "a control character in a value", b"X-A: b\x01c\r\n", True, "may"),
        ("headers", "a line feed ends a line", b"X-A: b\n", True, "may"),
        ("headers", "a space before the colon of the length", b"Content-Length : 0\r\n", True, "must"),
        ("headers", "a coding behind a line feed", b"X-A: b\nTransfer-Encoding: x\r\n", True, "must"),
        ("limits", "a line of 40 KiB", b"X-A: " + b"x" * 40_000 + b"\r\n", False, "may"),
        ("limits", "a line of 90 KiB", b"X-A: " + b"x" * 90_000 + b"\r\n", False, "may"),
        ("limits", "3000 lines", b"".join(b"X-%d: a\r\n" % i for i in range(3000)), False, "may"),
    ]


def chunked(body):
    """A chunk with the body, and the last one."""
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


def framed(first):
    """The classes that requests and responses share, after this beginning of a head."""
    for group, name, frame, wrong, refuse in lines_of_body():

        def make(body, frame=frame):
            lines, content = frame(body)
            return first + lines + b"\r\n" + content

        yield Message(group, name, make, wrong, refuse)
    for group, name, lines, wrong, refuse in header_lines():

        def make(body, lines=lines):
            return first + lines + b"Content-Length: %d\r\n\r\n" % len(body) + body

        yield Message(group, name, make, wrong, refuse)


def responses():
    """Responses with status 200, and what else a response can begin with."""
    yield from framed(b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + JSON)

    def starts(line, wrong, refuse, name, before=b""):
        def make(body):
            rest = JSON + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
            return before + line + b"\r\n" + rest + body

        return Message("first line", name, make, wrong, refuse)

    yield starts(b"HTTP/1.1 200 ", False, "no", "no reason")
    yield starts(b"HTTP/1.1 200 \xc3\xa9", False, "no", "a reason beyond ASCII")
    yield starts(b"HTTP/1.0 200 OK", False, "no", "HTTP/1.0")
    yield starts(b"HTTP/1.1 200 OK", False, "no", "an interim response before it", b"HTTP/1.1 100 Continue\r\n\r\n")
    yield starts(b"HTTP/1.1 200", True, "may", "no space after the status")
    yield starts(b"HTTP/1.1  200 OK", True, "may", "two spaces")
    yield starts(b"HTTP/1.1\t200 OK", True, "may", "a tab")
    yield starts(b"HTTP/1.1 +200 OK", True, "must", "a plus before the status")
    yield starts(b"HTTP/1.1 0200 OK", True, "must", "four digits")
    yield starts(b"HTTP/1.1 20 OK", True, "must", "two digits")
    yield starts(b"HTTP/1.1 2xx OK", True, "must", "no digits")
    yield starts(b"HTTP/1.1 200 O\0K", True, "may", "NUL in the reason")
    yield starts(b"HTTP/2.0 200 OK", True, "must", "HTTP/2.0")
    yield starts(b"HTTP/1.10 200 OK", True, "must", "HTTP/1.10")
    yield starts(b"http/1.1 200 OK", True, "must", "lower case")
    yield starts(b"HTTP/1.1 200 OK", True, "may", "an empty line before it", b"\r\n")
    yield starts(b"HTTP/1.1 200 OK", True, "must", "bytes before it", b"xyz")
    yield starts(b"HTTP/1.1 101 Switching Protocols", True, "must", "101 that nobody has asked for")

    def ends(name, wrong, refuse, make):
        return Message("end", name, lambda body: b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + JSON + make(body), wrong, refuse)

    yield ends("the end of the connection", False, "no", lambda body: b"\r\n" + body)
    yield ends("shorter than its length", True, "must", lambda body: b"Content-Length: %d\r\n\r\n" % (len(body) + 1) + body)
    yield ends("longer than its length", True, "may", lambda body: b"Content-Length: %d\r\n\r\n" % len(body) + body + b"x")
    yield ends(
        "no last chunk", True, "must", lambda body: b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(body), body)
    )
    yield ends(
        "no empty line after the last chunk",
        True,
        "must",
        lambda body: b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n" % (len(body), body),
    )

    def all_lf(body):
        return b"HTTP/1.1 200 OK\nContent-Type: application/json\nConnection: close\nContent-Length: %d\n\n%s" % (len(body), body)

    yield Message("first line", "line feeds alone end all lines", all_lf, True, "may")
    yield Message(
        "coding",
        "in HTTP/1.0",
        lambda body: b"HTTP/1.0 200 OK\r\n" + JSON + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(body),
        True,
        "may",
    )


def requests():
    """POST requests, and what else a request can begin with."""
    yield from framed(b"POST / HTTP/1.1\r\nHost: localhost\r\n" + JSON)

    def starts(name, line, wrong, refuse, host=b"Host: localhost\r\n", before=b""):
        def make(body):
            return before + line + b"\r\n" + host + JSON + b"Content-Length: %d\r\n\r\n" % len(body) + body

        return Message("first line", name, make, wrong, refuse)

    yield starts("an empty line before it", b"POST / HTTP/1.1", True, "no", before=b"\r\n")
    yield starts("the absolute form", b"POST http://localhost/ HTTP/1.1", False, "no")
    yield starts("two spaces", b"POST  / HTTP/1.1", True, "may")
    yield starts("a tab", b"POST\t/ HTTP/1.1", True, "may")
    yield starts("a word too many", b"POST / x HTTP/1.1", True, "must")
    yield starts("no version", b"POST /", True, "must")
    yield starts("HTTP/2.0", b"POST / HTTP/2.0", True, "must")
    yield starts("HTTP/1.10", b"POST / HTTP/1.10", True, "must")
    yield starts("a version in lower case", b"POST / http/1.1", True, "must")
    yield starts("a method that is no token", b"PO(ST / HTTP/1.1", True, "must")
    yield starts("NUL in the target", b"POST /\0 HTTP/1.1", True, "must")
    yield starts("bytes beyond ASCII in the target", b"POST /\xc3\xa9 HTTP/1.1", True, "may")
    yield starts("no Host", b"POST / HTTP/1.1", True, "must", host=b"")
    yield starts("two Hosts", b"POST / HTTP/1.1", True, "must", host=b"Host: localhost\r\nHost: localhost\r\n")
    yield starts("a Host that is none", b"POST / HTTP/1.1", True, "must", host=b"Host: a b\r\n")

    def all_lf(body):
        head = b"POST / HTTP/1.1\nHost: localhost\nContent-Type: application/json\nContent-Length: %d\n\n" % len(body)
        return head + body

    yield Message("first line", "line feeds alone end all lines", all_lf, True, "may")
    yield Message(
        "coding",
        "in HTTP/1.0",
        lambda body: b"POST / HTTP/1.0\r\nHost: localhost\r\n" + JSON + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(body),
        True,
        "may",
    )
