"""The studio's own small pages: it is starting, it asks for a token, something is wrong."""

from __future__ import annotations

import html
from urllib.parse import quote

# The colours of assets/studio.css. Inline, because nothing else is there yet to serve a file.
STYLE = """
:root{--bg:#f6f5f2;--card:#fff;--ink:#1d1c1a;--soft:#6a665f;--line:#e4e1da;--accent:#0f766e}
@media(prefers-color-scheme:dark){
:root{--bg:#161615;--card:#1f1f1d;--ink:#ecebe7;--soft:#a8a49b;--line:#33322f;--accent:#3fb8ab}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--bg);
color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:34rem;margin:1rem;padding:28px 32px;background:var(--card);
border:1px solid var(--line);border-radius:14px;overflow-wrap:anywhere}
h1{font-size:20px;margin:0 0 8px}p{margin:0;color:var(--soft)}
form{display:flex;gap:10px;margin-top:18px}label{flex:1;font-size:13px;color:var(--soft)}
input{display:block;width:100%;font:inherit;padding:8px 10px;border:1px solid var(--line);
border-radius:9px;background:var(--bg);color:var(--ink)}
button{align-self:end;font:inherit;padding:8px 15px;border:1px solid var(--line);border-radius:9px;
background:var(--card);color:var(--ink)}
.line{height:4px;margin-top:20px;border-radius:2px;background:var(--line);overflow:hidden}
.line i{display:block;width:30%;height:100%;background:var(--accent);border-radius:2px;
animation:go 1.6s ease-in-out infinite alternate}
@keyframes go{to{transform:translateX(233%)}}
@media(prefers-reduced-motion:reduce){.line i{animation:none;width:100%}}
"""

TOKEN_FORM = """<form method="get"><label>Token
<input name="token" type="password" autocomplete="current-password" autofocus required></label>
<button>Open</button></form>"""

STARTING_BODY = """<h1>Timbre is starting</h1>
<p role="status">The page opens by itself in a few seconds.</p>
<div class="line" aria-hidden="true"><i></i></div>
<noscript><meta http-equiv="refresh" content="3"></noscript>"""

# Any state but "starting" has a page of its own to show.
STARTING_SCRIPT = """
const said = document.querySelector('[role=status]');
async function look() {
  try {
    const health = await (await fetch('/timbre/health', {cache: 'no-store'})).json();
    if (health.state !== 'starting') return location.reload();
  } catch {
    said.textContent = 'Timbre does not answer. If it was closed, start it again.';
  }
  setTimeout(look, 300);
}
look();
"""


def page(title: str, body: str, script: str = "") -> str:
    """Wrap a few words of HTML as a whole page that asks for nothing from outside."""
    code = f"<script>{script}</script>" if script else ""
    # The empty icon keeps the browser from asking for /favicon.ico.
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,"><meta name="color-scheme" content="light dark">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head>"
        f"<body><main>{body}</main>{code}</body></html>"
    )


def go_to(address: str) -> str:
    """Script that goes on to one of our own addresses (percent-encoded, so it holds no quote)."""
    return f"location.replace({quote(address, safe='/?&=%+')!r});"


STARTING = page("Timbre is starting", STARTING_BODY, STARTING_SCRIPT)
