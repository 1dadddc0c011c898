"""Clients of python's own: http.client and urllib. Prints what each got from the server at argv[1], as one JSON object."""

import http.client
import json
import sys
import urllib.request

host = sys.argv[1].removeprefix("http://")
result = {}

connection = http.client.HTTPConnection(host)
for name, headers, body in [("length", {}, b"[1]"), ("chunked", {"Transfer-Encoding": "chunked"}, iter([b"[", b"2]"]))]:
    connection.request("POST", "/echo", body=body, headers=headers, encode_chunked=name == "chunked")
    response = connection.getresponse()
    result[name] = [response.status, response.read().decode()]
connection.request("HEAD", "/chunked")
response = connection.getresponse()
result["head"] = [response.status, response.read().decode()]
connection.request("GET", "/chunked")
result["pieces"] = connection.getresponse().read().decode()
connection.close()

for name, path in [("short", "/too-short"), ("reset", "/reset"), ("chunk", "/bad-chunk"), ("cut", "/close")]:
    connection = http.client.HTTPConnection(host)
    try:
        connection.request("GET", path)
        result[name] = connection.getresponse().read().decode()
    except (http.client.HTTPException, OSError) as error:
        result[name] = type(error).__name__
    connection.close()

with urllib.request.urlopen(sys.argv[1] + "/until-close") as response:
    result["urllib"] = [response.status, response.read().decode()]
print(json.dumps(result))
