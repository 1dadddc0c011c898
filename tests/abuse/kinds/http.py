"""HTTP messages that are wrong, endless or never end: responses of servers, requests of clients."""

import os
import time
import zlib

from subjects.wire import head

from .kind import BROKEN_HTTP, CLIENTS, CONFORMS, INCOMPLETE, KNOWN, SERVERS, REFUSED, UNREACHED, VIOLATED, kind

BOTH = SERVERS + CLIENTS
WITH_BODY = ("openctx-provider", "amplifier-server", "openctx-client")
REST = ("openctx-provider", "amplifier-server")
ANY = {CONFORMS, VIOLATED, UNREACHED, INCOMPLETE}
GIB = 1 << 30


def message(name, about, roles=BOTH, **more):
    return kind(name, roles, "http", about, **{"accused": BROKEN_HTTP, **more})


def whole(start, headers, body):
    return head(start, [*headers, ("Content-Length", len(body))]) + body


# Hangs


@message("no-head", "sends nothing in the place of an HTTP message")
def no_head(wire, start, headers, body):
    wire.drain()


@message("hang-in-start", "hangs in the middle of the start line")
def hang_in_start(wire, start, headers, body):
    wire.send(start[: len(start) // 2].encode())
    wire.drain()


@message("hang-in-head", "hangs in the middle of the head")
def hang_in_head(wire, start, headers, body):
    wire.send(head(start, headers)[:-5])
    wire.drain()


@message("hang-in-body", "hangs in the middle of the body", WITH_BODY)
def hang_in_body(wire, start, headers, body):
    wire.send(whole(start, headers, body)[:-3])
    wire.drain()


@message("hang-in-chunk", "hangs in the middle of a chunk", WITH_BODY)
def hang_in_chunk(wire, start, headers, body):
    wire.send(head(start, [*headers, ("Transfer-Encoding", "chunked")]) + b"40\r\n" + body[:9])
    wire.drain()


@message("hang-in-chunk-size", "hangs in the middle of the size of a chunk", WITH_BODY)
def hang_in_chunk_size(wire, start, headers, body):
    wire.send(head(start, [*headers, ("Transfer-Encoding", "chunked")]) + b"4")
    wire.drain()


@message("cut-in-head", "cuts the connection in the middle of the head")
def cut_in_head(wire, start, headers, body):
    wire.send(head(start, headers)[:-5])
    wire.reset()


@message("cut-in-body", "cuts the connection in the middle of the body", WITH_BODY)
def cut_in_body(wire, start, headers, body):
    wire.send(whole(start, headers, body)[:-3])
    wire.reset()


@message("ends-in-body", "ends the connection in the middle of the body", WITH_BODY)
def ends_in_body(wire, start, headers, body):
    wire.send(whole(start, headers, body)[:-3])


@message("slow-body", "sends a body one byte in 20 ms", WITH_BODY, codes=ANY, timeout="8s")
def slow_body(wire, start, headers, body):
    data = whole(start, headers, body)
    wire.send(data[: -len(body)])
    wire.drip(body, 0.02)


# Without end


@message("endless-start", "sends a start line without end")
def endless_start(wire, start, headers, body):
    wire.send(start.encode()[:-8])
    wire.flood(b"x" * 65536)


@message("endless-header", "sends a header without end")
def endless_header(wire, start, headers, body):
    wire.send(head(start, headers)[:-2] + b"X-Abuse: ")
    wire.flood(b"x" * 65536)


@message("endless-headers", "sends headers without end")
def endless_headers(wire, start, headers, body):
    wire.send(head(start, headers)[:-2])
    wire.flood(b"X-Abuse: 1\r\n" * 4096)


@message("endless-folding", "folds a header without end")
def endless_folding(wire, start, headers, body):
    wire.send(head(start, headers)[:-2] + b"X-Abuse: 1\r\n")
    wire.flood(b" more\r\n" * 4096)


@message("endless-blank-lines", "sends empty lines before the start line, without end")
def endless_blank_lines(wire, start, headers, body):
    wire.flood(b"\r\n" * 16384)


@message("many-headers", "sends 5,000 headers", codes=ANY)
def many_headers(wire, start, headers, body):
    wire.send(whole(start, [*headers, *[(f"X-{n}", n) for n in range(5000)]], body))
    time.sleep(1)


@message("interim-flood", "sends interim responses without end", SERVERS, **KNOWN)
def interim_flood(wire, start, headers, body):
    wire.flood(b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n" * 512)


@message("interim-slow", "sends an interim response every 100 ms, and no other", SERVERS)
def interim_slow(wire, start, headers, body):
    for _ in range(200):
        wire.send(b"HTTP/1.1 102 Processing\r\n\r\n")
        time.sleep(0.1)


@message("announced-10-gb", "announces a body of 10 GB, and sends 1 MB of it", WITH_BODY)
def announced_10_gb(wire, start, headers, body):
    wire.send(head(start, [*headers, ("Content-Length", 10 * GIB)]))
    wire.flood(b" " * 65536, 1 << 20)
    wire.drain()


@message("sent-10-gb", "sends a body of 10 GB, as much of it as is read", WITH_BODY, **KNOWN)
def sent_10_gb(wire, start, headers, body):
    wire.send(head(start, [*headers, ("Content-Length", 10 * GIB)]))
    wire.flood(b" " * (1 << 20), 10 * GIB)


@message("sent-until-close", "sends a body without end, which only the end of the connection ends", REST, **KNOWN)
def sent_until_close(wire, start, headers, body):
    wire.send(head(start, [*headers, ("Connection", "close")]))
    wire.flood(b" " * (1 << 20), 10 * GIB)


@message("endless-chunks", "sends chunks without end", WITH_BODY, **KNOWN)
def endless_chunks(wire, start, headers, body):
    wire.send(head(start, [*headers, ("Transfer-Encoding", "chunked")]))
    wire.flood((b"10000\r\n" + b" " * 65536 + b"\r\n") * 8, 10 * GIB)


@message("byte-chunks", "sends chunks of one byte without end", WITH_BODY)
def byte_chunks(wire, start, headers, body):
    wire.send(head(start, [*headers, ("Transfer-Encoding", "chunked")]))
    wire.flood(b"1\r\n \r\n" * 8192, 10 * GIB)


@message("chunk-extension", "sends an extension of a chunk without end", WITH_BODY)
def chunk_extension(wire, start, headers, body):
    wire.send(head(start, [*headers, ("Transfer-Encoding", "chunked")]) + b"1;x=")
    wire.flood(b"y" * 65536)


@message("chunk-size-huge", "sends a chunk of ffffffffffffffff bytes, and one of more digits", WITH_BODY)
def chunk_size_huge(wire, start, headers, body):
    wire.send(head(start, [*headers, ("Transfer-Encoding", "chunked")]) + b"ffffffffffffffff\r\n" + body)
    time.sleep(0.2)
    wire.send(b"f" * 400 + b"\r\n")
    wire.drain()


@message("chunk-size-wrong", "sends a size of a chunk that is no number", WITH_BODY)
def chunk_size_wrong(wire, start, headers, body):
    wire.send(head(start, [*headers, ("Transfer-Encoding", "chunked")]) + b"-1\r\n" + body + b"\r\n0x\r\n\r\n")
    time.sleep(0.5)


@message("trailers-endless", "sends trailers without end", WITH_BODY)
def trailers_endless(wire, start, headers, body):
    data = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n"
    wire.send(head(start, [*headers, ("Transfer-Encoding", "chunked")]) + data)
    wire.flood(b"X-Abuse: 1\r\n" * 4096)


# Wrong


@message("http-0.9", "responds as HTTP/0.9 does, without a head", SERVERS)
def http_0_9(wire, start, headers, body):
    wire.send(body or b"hello\n")


@message("http-9.9", "speaks HTTP/9.9", codes=ANY)
def http_9_9(wire, start, headers, body):
    wire.send(whole(start.replace("HTTP/1.1", "HTTP/9.9"), headers, body))
    time.sleep(0.5)


def status(name, about, line, codes=ANY):
    @message(f"status-{name}", f"has {about}", SERVERS, codes=codes, accused=REFUSED)
    def act(wire, start, headers, body):
        wire.send(whole(line, headers, body))


status("none", "a status line without a status", "HTTP/1.1")
status("zero", "the status 000", "HTTP/1.1 000 Nothing")
status("long", "the status 200200200200", "HTTP/1.1 200200200200 OK")
status("999", "the status 999", "HTTP/1.1 999 Odd")
status("text", "a status in words", "HTTP/1.1 OK fine")
status("negative", "the status -1", "HTTP/1.1 -1 OK")
status(
    "101",
    "the status 101 whatever was asked for",
    "HTTP/1.1 101 Switching Protocols",
    {VIOLATED, UNREACHED, INCOMPLETE, CONFORMS},
)
status("204", "the status 204 with a body", "HTTP/1.1 204 No Content")
status("bytes", "a reason that is no UTF-8, with escapes", "HTTP/1.1 200 \xff\x1b[2J\x00")


@message("headers-not-utf-8", "has headers that are no UTF-8, with NULs and escapes", codes=ANY)
def headers_not_utf_8(wire, start, headers, body):
    wire.send(whole(start, headers, body).replace(b"\r\n\r\n", b"\r\nX-\xff: \xfe\x00\x1b[2J\r\n\r\n", 1))
    time.sleep(0.5)


@message("headers-no-colon", "has lines in its head that are no headers", codes=ANY)
def headers_no_colon(wire, start, headers, body):
    wire.send(whole(start, headers, body).replace(b"\r\n\r\n", b"\r\nno colon\r\n: no name\r\n\r\n", 1))
    time.sleep(0.5)


@message("bare-lf", "ends the lines of its head in LF alone", codes=ANY)
def bare_lf(wire, start, headers, body):
    data = whole(start, headers, body)
    wire.send(data.replace(b"\r\n", b"\n"))
    time.sleep(0.5)


@message("bare-cr", "ends the lines of its head in CR alone")
def bare_cr(wire, start, headers, body):
    wire.send(head(start, headers).replace(b"\r\n", b"\r") + body)
    time.sleep(0.5)


@message("lengths-two", "has two lengths that differ", WITH_BODY)
def lengths_two(wire, start, headers, body):
    wire.send(head(start, [*headers, ("Content-Length", len(body)), ("Content-Length", 2)]) + body)
    time.sleep(0.5)


@message("lengths-both", "has a length and chunks, as for smuggling", WITH_BODY, codes=ANY)
def lengths_both(wire, start, headers, body):
    both = [*headers, ("Content-Length", len(body)), ("Transfer-Encoding", "chunked")]
    wire.send(head(start, both) + f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n")
    time.sleep(0.5)


def length(name, about, value):
    @message(f"length-{name}", f"has {about}", WITH_BODY)
    def act(wire, start, headers, body):
        wire.send(head(start, [*headers, ("Content-Length", value)]) + body)
        time.sleep(0.5)


length("negative", "a negative length", -1)
length("text", "a length in words", "many")
length("overflow", "a length of 30 digits", "9" * 30)
length("plus", "a length with a plus sign", "+5")


@message("encoding-stacked", "names 1,000 transfer codings", WITH_BODY)
def encoding_stacked(wire, start, headers, body):
    wire.send(head(start, [*headers, ("Transfer-Encoding", ", ".join(["chunked"] * 1000))]) + b"0\r\n\r\n")
    time.sleep(0.5)


def bomb(name, about, encoding, content):
    @message(f"bomb-{name}", f"sends {about}", WITH_BODY)
    def act(wire, start, headers, body):
        wire.send(whole(start, [*headers, ("Content-Encoding", encoding)], content()))
        time.sleep(1)


def twice(size):
    import gzip

    return gzip.compress(squeezed(size))


def squeezed(size):
    press = zlib.compressobj(9, zlib.DEFLATED, 31)
    piece = b" " * (1 << 20)
    return b"".join(press.compress(piece) for _ in range(size >> 20)) + press.flush()


bomb("gzip", "1 GB as 1 MB of gzip, which was not asked for", "gzip", lambda: squeezed(GIB))
bomb("gzip-twice", "256 MB squeezed twice", "gzip, gzip", lambda: twice(256 << 20))
bomb("gzip-endless", "gzip that is cut and damaged", "gzip", lambda: squeezed(16 << 20)[:-9] + os.urandom(64))
bomb("unknown", "a coding that nobody knows", "zstd, br, x-abuse", lambda: os.urandom(4096))


# Elsewhere


@message("redirect-loop", "redirects each request to where it was sent", REST, accused=REFUSED)
def redirect_loop(wire, start, headers, body):
    wire.send(
        head("HTTP/1.1 307 Temporary Redirect", [("Location", "/"), ("Content-Length", 0), ("Connection", "close")])
    )


@message("redirect-growing", "redirects each request to a longer path", REST, accused=REFUSED)
def redirect_growing(wire, start, headers, body):
    path = "/" + "x" * (60_000 if os.urandom(1)[0] % 2 else 50_000)
    wire.send(
        head("HTTP/1.1 308 Permanent Redirect", [("Location", path), ("Content-Length", 0), ("Connection", "close")])
    )


@message("redirect-away", "redirects each request to another machine", REST, accused=REFUSED)
def redirect_away(wire, start, headers, body):
    away = [("Location", "http://192.0.2.1:9/"), ("Content-Length", 0), ("Connection", "close")]
    wire.send(head("HTTP/1.1 307 Temporary Redirect", away))


@message("redirect-odd", "redirects each request to what is no URL", REST, accused=REFUSED)
def redirect_odd(wire, start, headers, body):
    away = [("Location", "file:///etc/passwd\xff::[["), ("Content-Length", 0), ("Connection", "close")]
    wire.send(head("HTTP/1.1 307 Temporary Redirect", away))


@message("date-far", "has dates of another millennium", codes=ANY)
def date_far(wire, start, headers, body):
    far = [(name, value) for name, value in headers if name != "Date"]
    far += [("Date", "Fri, 31 Dec 9999 23:59:60 GMT"), ("Age", "9" * 40), ("Retry-After", "9" * 40)]
    wire.send(whole(start, far, body) if body else head(start, far))
    time.sleep(0.5)


@message("pipelined-garbage", "sends the right message, and garbage after it", codes=ANY)
def pipelined_garbage(wire, start, headers, body):
    wire.send((whole(start, headers, body) if body else head(start, headers)) + os.urandom(4096))
    time.sleep(0.5)


@message("echo", "sends back what it was sent", SERVERS)
def echo(wire, start, headers, body):
    wire.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
    time.sleep(0.5)


@message("never-reads", "sends requests without end, and reads no response", CLIENTS, codes=ANY)
def never_reads(wire, start, headers, body):
    wire.flood(whole(start, headers, body) * 50, 1 << 30, 5)
