"""slow_git.py FOLDER SECONDS PORT_FILE: the bare repositories below FOLDER over HTTP on loopback, by `git http-backend`.
Each answer waits for SECONDS first, as a server far away would; any number of them wait at a time. Writes its port."""

import http.server
import os
import subprocess
import sys
import threading
import time

folder, delay, port_file = sys.argv[1], float(sys.argv[2]), sys.argv[3]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def answer(self):
        time.sleep(delay)
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": folder,
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "REMOTE_ADDR": "127.0.0.1",
        }
        done = subprocess.run(["git", "http-backend"], env=environment, input=body, capture_output=True)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = [line.decode().split(": ", 1) for line in head.splitlines()]
        status = dict(fields).get("Status", "200 OK")
        self.send_response_only(int(status.split()[0]))
        for name, value in fields:
            if name != "Status":
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    # As many as ask at a time.
    request_queue_size = 128


def end_with(parent):
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)


threading.Thread(target=end_with, args=[os.getppid()], daemon=True).start()
server = Server(("127.0.0.1", 0), Handler)
with open(port_file + ".new", "w") as file:
    print(server.server_port, file=file)
os.rename(port_file + ".new", port_file)
server.serve_forever()
