"""A shop that shows its teas only to a person: behind a consent window of another site, a select, a button that opens
a window, and a page that leads to another page after 700 ms.

    python examples/teahouse/serve.py
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = 8010
SHOP, CONSENT = "127.0.0.1", "127.0.0.2"
TEAS = [
    {"name": "Assam", "price": "7.50"},
    {"name": "Keemun", "price": "9.20"},
    {"name": "Sencha", "price": "11.00"},
]


def pages(port: int) -> dict[str, str]:
    """Returns the pages of both sites by path."""
    return {
        "/": f"""<!doctype html><title>Tea house</title><h1>Tea house</h1>
<form action=/list target=_blank hidden><select name=size id=size><option>Choose<option value=s>Small tin<option value=l>Large tin</select>
<button>Show teas</button></form>
<div id=wall style="position:fixed; inset:0; background:#eee"><iframe id=consent width=400 height=300 src=http://{CONSENT}:{port}/consent></iframe></div>
<script>
addEventListener("message", () => {{
  document.querySelector("#wall").remove();
  document.querySelector("form").hidden = false;
}});
</script>""",
        "/consent": """<!doctype html><p>We value your privacy.</p><button id=settings>Settings</button>
<button id=accept onclick="parent.postMessage('yes', '*')">Accept all</button>""",
        "/list?size=l": "<p>One moment</p><script>setTimeout(() => { location.replace('/sorted?size=l') }, 700)</script>",
        "/sorted?size=l": """<!doctype html><title>Large tins</title><ul></ul><script>
fetch("/api/teas").then((answer) => answer.json()).then((teas) => { document.querySelector("ul").innerHTML = teas.map((tea) =>
`<li class=tea><b>${tea.name}</b> <i>${tea.price} €</i> in stock</li>`).join("") })</script>""",
        "/api/teas": json.dumps(TEAS),
    }


class Handler(BaseHTTPRequestHandler):
    """Serves the pages of both sites."""

    def do_GET(self) -> None:
        found = pages(self.server.server_address[1]).get(self.path)
        body = (found or "no such page").encode()
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Type", f"text/{'plain' if found is None else 'html'}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def main() -> None:
    """Serves both sites until the program is stopped."""
    other = ThreadingHTTPServer((CONSENT, PORT), Handler)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    print(f"http://{SHOP}:{PORT}/", flush=True)
    ThreadingHTTPServer((SHOP, PORT), Handler).serve_forever()


if __name__ == "__main__":
    main()
