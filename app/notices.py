"""The studio's own small pages: it asks for a token, something is wrong."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from urllib.parse import quote

_NONE = "'none'"
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
"""

TOKEN_FORM = """<form method="get"><label>Token
<input name="token" type="password" autocomplete="current-password" autofocus required></label>
<button>Open</button></form>"""


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


def policy_for(text: str) -> str:
    """What a page may run and look like: what stands in it, known by its hash."""
    allowed = {
        kind: " ".join(_hash(found) for found in re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.S))
        for kind in ("style", "script")
    }
    return (
        f"default-src 'none'; style-src {allowed['style']}; script-src {allowed['script'] or _NONE};"
        " connect-src 'self'; img-src data:; base-uri 'none'; form-action 'self';"
        " frame-ancestors 'none'"
    )


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def go_to(address: str) -> str:
    """Script that goes on to one of our own addresses (percent-encoded, so it holds no quote)."""
    return f"location.replace({quote(address, safe='/?&=%+')!r});"
