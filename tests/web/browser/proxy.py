"""A proxy that serves a server below a path."""

from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler


class Proxy(BaseHTTPRequestHandler):
    """What stands before the server: it takes /taste away."""

    protocol_version = "HTTP/1.1"

    def _forward(self):
        if not self.path.startswith("/taste/"):
            self.send_error(404)
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        asked = HTTPConnection("127.0.0.1", self.server.to, timeout=30)
        asked.request(self.command, self.path.removeprefix("/taste"), body, dict(self.headers))
        answer = asked.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        asked.close()

    do_GET = do_PUT = do_POST = do_DELETE = _forward  # noqa: N815

    def log_message(self, *args):
        """Say nothing."""
