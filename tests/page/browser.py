"""A headless Chromium, driven over the WebDriver protocol with nothing but Python's own library."""
import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015", "Home": "\ue011",
        "End": "\ue010", "PageUp": "\ue00e", "PageDown": "\ue00f", "Tab": "\ue004"}


def missing():
    """What is needed and not installed; empty where all is there."""
    found = [name for name in ("chromedriver",) if not shutil.which(name)]
    if not any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")):
        found.append("chromium")
    return " and ".join(found)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Browser:
    def __init__(self, width=1440, height=1000):
        self.port = free_port()
        self.folder = tempfile.mkdtemp(prefix="headwise-page-")
        self.driver = subprocess.Popen(["chromedriver", f"--port={self.port}"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.session = None
        arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage",
                     "--hide-scrollbars", "--no-first-run", f"--user-data-dir={self.folder}",
                     f"--window-size={width},{height}"]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")  # Chromium refuses to run as root with one
        options = {"args": arguments}
        for name in ("chromium", "chromium-browser", "google-chrome"):
            if shutil.which(name):
                options["binary"] = shutil.which(name)
                break
        wanted = {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}}
        try:
            self._wait()
            self.session = self._call("POST", "/session", wanted, timeout=120)["sessionId"]
        except BaseException:
            self.close()
            raise

    def _wait(self):
        for _ in range(200):
            try:
                if self._call("GET", "/status")["ready"]:
                    return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("chromedriver did not become ready in 20 s")

    def _call(self, method, path, body=None, timeout=60):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=timeout) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            problem = json.load(error)["value"]
            raise RuntimeError(f"{problem['error']}: {problem['message']}") from None

    def _ask(self, method, path, body=None):
        return self._call(method, f"/session/{self.session}{path}", body)

    def open(self, path):
        self._ask("POST", "/url", {"url": "file://" + os.path.abspath(path)})

    def run(self, script, *arguments):
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector):
        return self._ask("POST", "/element", {"using": "css selector", "value": selector})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def click(self, selector):
        self._ask("POST", f"/element/{self.find(selector)[ELEMENT]}/click", {})

    def press(self, *names):
        actions = []
        for name in names:
            value = KEYS.get(name, name)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self._ask("POST", "/actions", {"actions": [{"type": "key", "id": "k", "actions": actions}]})

    def move(self, selector, x, y):
        """The pointer, x and y from the middle of the element."""
        target = {ELEMENT: self.find(selector)[ELEMENT]}
        move = {"type": "pointerMove", "duration": 0, "origin": target, "x": x, "y": y}
        self._ask("POST", "/actions", {"actions": [{"type": "pointer", "id": "p",
                                                    "actions": [move]}]})

    def color_scheme(self, name):
        self._ask("POST", "/goog/cdp/execute", {
            "cmd": "Emulation.setEmulatedMedia",
            "params": {"features": [{"name": "prefers-color-scheme", "value": name}]}})

    def resize(self, width, height):
        self._ask("POST", "/goog/cdp/execute", {
            "cmd": "Emulation.setDeviceMetricsOverride",
            "params": {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}})

    def logs(self):
        """Everything on the console since the last call: warnings and errors too."""
        return [f"{entry['level']}: {entry['message']}"
                for entry in self._ask("POST", "/se/log", {"type": "browser"})]

    def screenshot(self, path, whole=False):
        if whole:
            answer = self._ask("POST", "/goog/cdp/execute", {
                "cmd": "Page.captureScreenshot",
                "params": {"format": "png", "captureBeyondViewport": True}})["data"]
        else:
            answer = self._ask("GET", "/screenshot")
        with open(path, "wb") as picture:
            picture.write(base64.b64decode(answer))

    def close(self):
        try:
            if self.session:
                self._call("DELETE", f"/session/{self.session}")
        finally:
            self.driver.terminate()
            self.driver.wait(timeout=20)
            shutil.rmtree(self.folder, ignore_errors=True)
